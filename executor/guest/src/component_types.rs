//! Types of a component's functions, as its bytes declare them.

use super::component::INNER;
use std::cell::Cell;
use std::fmt;
use wasmparser::PrimitiveValType as Primitive;
use wasmparser::component_types::{
    ComponentDefinedType, ComponentEntityType, ComponentFuncTypeId, ComponentValType,
};
use wasmparser::types::TypesRef;

/// The type of an exported function. Its text is that of WIT, with the types in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionType {
    /// Names and types of the parameters.
    pub params: Vec<(String, DataType)>,
    /// The type of the result, if there is one.
    pub result: Option<DataType>,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// A type without parts, by its name in WIT: `u64`, `string`.
    Primitive(&'static str),
    /// A handle, a stream or a future, by its name in WIT: values of it cannot be written down.
    Handle(&'static str),
    /// Any number of values of one type.
    List(Box<Self>),
    /// So many values of one type.
    FixedList(Box<Self>, u32),
    /// Pairs of a key and a value.
    Map(Box<Self>, Box<Self>),
    /// A value for each name.
    Record(Vec<(String, Self)>),
    /// A value for each type.
    Tuple(Vec<Self>),
    /// One of these cases, with content or without.
    Variant(Vec<(String, Option<Self>)>),
    /// One of these names.
    Enum(Vec<String>),
    /// Some of these names.
    Flags(Vec<String>),
    /// A value or none.
    Option(Box<Self>),
    /// A value of success, or one of failure.
    Result(Option<Box<Self>>, Option<Box<Self>>),
}

/// Bytes that the types of a component's functions may take, written in full. Types that share
/// parts can take far more than the component's bytes.
const LARGEST: usize = 4 << 20;
/// Bytes of a type or a name beside its text.
const PART: usize = 24;

/// Writes types in full, up to [`LARGEST`].
pub(super) struct Types<'a> {
    known: TypesRef<'a>,
    /// Bytes that are left; `None` once there were too few.
    left: Cell<Option<usize>>,
}

impl<'a> Types<'a> {
    pub(super) fn new(known: TypesRef<'a>) -> Self {
        Self { known, left: Cell::new(Some(LARGEST)) }
    }

    /// `true` if there is more than fits.
    pub(super) fn are_too_large(&self) -> bool {
        self.left.get().is_none()
    }

    /// Names and types of the functions that an export is: one, or those of an instance, whose
    /// names follow the instance's after a `#`. Empty for other exports.
    pub(super) fn functions(&self, name: &str) -> Vec<(String, FunctionType)> {
        let of = |name: String, ty: ComponentFuncTypeId| {
            self.take(name.len())?;
            Some((name, self.function(ty)?))
        };
        match self.known.component_item_for_export(name).map(|item| item.ty) {
            Some(ComponentEntityType::Func(ty)) => of(name.to_owned(), ty).into_iter().collect(),
            Some(ComponentEntityType::Instance(instance)) => {
                let known = self.known.get(instance);
                let exports = known.into_iter().flat_map(|instance| &instance.exports);
                let function =
                    |(inner, item): (&String, &wasmparser::component_types::ComponentItem)| {
                        let ComponentEntityType::Func(ty) = item.ty else { return None };
                        of(format!("{name}{INNER}{inner}"), ty)
                    };
                exports.filter_map(function).collect()
            }
            _ => Vec::new(),
        }
    }

    fn function(&self, id: ComponentFuncTypeId) -> Option<FunctionType> {
        let ty = self.known.get(id)?;
        let param = |(name, ty): &(_, ComponentValType)| Some((self.text(name)?, data(self, *ty)?));
        let result = ty.result.map(|ty| data(self, ty));
        Some(FunctionType {
            params: ty.params.iter().map(param).collect::<Option<_>>()?,
            result: match result {
                Some(result) => Some(result?),
                None => None,
            },
        })
    }

    fn text(&self, name: &impl ToString) -> Option<String> {
        let name = name.to_string();
        self.take(name.len()).map(|()| name)
    }

    /// Takes room for a part with a text of so many bytes.
    fn take(&self, bytes: usize) -> Option<()> {
        self.left.set(self.left.get()?.checked_sub(PART + bytes));
        self.left.get().map(drop)
    }
}

fn data(types: &Types<'_>, ty: ComponentValType) -> Option<DataType> {
    types.take(0)?;
    let text = |name: &_| types.text(name);
    let of = |ty: &ComponentValType| data(types, *ty);
    let boxed = |ty: &ComponentValType| data(types, *ty).map(Box::new);
    let some = |ty: &Option<ComponentValType>| match ty {
        Some(ty) => boxed(ty).map(Some),
        None => Some(None),
    };
    let id = match ty {
        ComponentValType::Primitive(primitive) => return Some(self::primitive(primitive)),
        ComponentValType::Type(id) => id,
    };
    Some(match types.known.get(id)? {
        ComponentDefinedType::Primitive(primitive) => self::primitive(*primitive),
        ComponentDefinedType::Record(record) => {
            let field = |(name, ty): (&_, &ComponentValType)| Some((text(name)?, of(ty)?));
            DataType::Record(record.fields.iter().map(field).collect::<Option<_>>()?)
        }
        ComponentDefinedType::Variant(variant) => {
            let cases = variant.cases.iter().map(|(name, case)| {
                let content = match &case.ty {
                    Some(ty) => Some(of(ty)?),
                    None => None,
                };
                Some((text(name)?, content))
            });
            DataType::Variant(cases.collect::<Option<_>>()?)
        }
        ComponentDefinedType::List { element, .. } => DataType::List(boxed(element)?),
        ComponentDefinedType::Map { key, value, .. } => DataType::Map(boxed(key)?, boxed(value)?),
        ComponentDefinedType::FixedLengthList { element, length, .. } => {
            DataType::FixedList(boxed(element)?, *length)
        }
        ComponentDefinedType::Tuple(tuple) => {
            DataType::Tuple(tuple.types.iter().map(of).collect::<Option<_>>()?)
        }
        ComponentDefinedType::Flags(names) => {
            DataType::Flags(names.iter().map(text).collect::<Option<_>>()?)
        }
        ComponentDefinedType::Enum(names) => {
            DataType::Enum(names.iter().map(text).collect::<Option<_>>()?)
        }
        ComponentDefinedType::Option { ty, .. } => DataType::Option(boxed(ty)?),
        ComponentDefinedType::Result { ok, err, .. } => DataType::Result(some(ok)?, some(err)?),
        ComponentDefinedType::Own(_) => DataType::Handle("own"),
        ComponentDefinedType::Borrow(_) => DataType::Handle("borrow"),
        ComponentDefinedType::Future { .. } => DataType::Handle("future"),
        ComponentDefinedType::Stream { .. } => DataType::Handle("stream"),
    })
}

fn primitive(primitive: Primitive) -> DataType {
    DataType::Primitive(match primitive {
        Primitive::Bool => "bool",
        Primitive::S8 => "s8",
        Primitive::U8 => "u8",
        Primitive::S16 => "s16",
        Primitive::U16 => "u16",
        Primitive::S32 => "s32",
        Primitive::U32 => "u32",
        Primitive::S64 => "s64",
        Primitive::U64 => "u64",
        Primitive::F32 => "f32",
        Primitive::F64 => "f64",
        Primitive::Char => "char",
        Primitive::String => "string",
        Primitive::ErrorContext => return DataType::Handle("error-context"),
    })
}

impl fmt::Display for FunctionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, ["func(", ")"], &self.params, |f, (name, ty)| write!(f, "{name}: {ty}"))?;
        self.result.as_ref().map_or(Ok(()), |ty| write!(f, " -> {ty}"))
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(name) | Self::Handle(name) => f.write_str(name),
            Self::List(element) => write!(f, "list<{element}>"),
            Self::FixedList(element, length) => write!(f, "list<{element}, {length}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Self::Record(fields) => {
                list(f, ["record{", "}"], fields, |f, (name, ty)| write!(f, "{name}: {ty}"))
            }
            Self::Tuple(types) => list(f, ["tuple<", ">"], types, |f, ty| write!(f, "{ty}")),
            Self::Variant(cases) => {
                list(f, ["variant{", "}"], cases, |f, (name, content)| match content {
                    Some(content) => write!(f, "{name}({content})"),
                    None => f.write_str(name),
                })
            }
            Self::Enum(names) => write!(f, "enum{{{}}}", names.join(", ")),
            Self::Flags(names) => write!(f, "flags{{{}}}", names.join(", ")),
            Self::Option(content) => write!(f, "option<{content}>"),
            Self::Result(None, None) => f.write_str("result"),
            Self::Result(Some(ok), None) => write!(f, "result<{ok}>"),
            Self::Result(None, Some(err)) => write!(f, "result<_, {err}>"),
            Self::Result(Some(ok), Some(err)) => write!(f, "result<{ok}, {err}>"),
        }
    }
}

/// Writes things with commas between them.
fn list<T>(
    f: &mut fmt::Formatter<'_>,
    [before, behind]: [&str; 2],
    all: &[T],
    mut write: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_str(before)?;
    for (index, one) in all.iter().enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write(f, one)?;
    }
    f.write_str(behind)
}

#[cfg(test)]
mod tests {
    use crate::ModuleInfo;

    #[test]
    fn types_that_grow_in_full_beyond_all_bounds_are_refused() {
        let read = |leaf: &str| {
            let text = format!(
                r#"(component
                    (core module $m (memory (export "m") 1) (func (export "f") (param i32))
                        (func (export "r") (param i32 i32 i32 i32) (result i32) unreachable))
                    (core instance $i (instantiate $m))
                    (type $t0 {leaf}) (export $t "t" (type $t0))
                    (type $t1 (tuple {}))
                    (type $t2 (tuple {}))
                    (func (export "f") (param "p" $t2)
                        (canon lift (core func $i "f") (memory (core memory $i "m"))
                            (realloc (core func $i "r")))))"#,
                "$t ".repeat(100),
                "$t1 ".repeat(100),
            );
            ModuleInfo::read(&wat::parse_str(text).unwrap())
        };
        assert!(read("(record (field \"a\" u32))").is_ok());
        let long = "a".repeat(50_000);
        let many: String = (0..5000).map(|case| format!("\"c{case}\" ")).collect();
        for leaf in [format!("(record (field \"{long}\" u32))"), format!("(enum {many})")] {
            let refused = read(&leaf).unwrap_err().to_string();
            assert!(refused.contains("too large"), "{refused}");
        }
    }

    #[test]
    fn references_of_the_host_are_refused_by_name() {
        let text = r#"(component
            (core module $m (table 1 externref) (func (export "f")))
            (core instance $i (instantiate $m))
            (func (export "f") (canon lift (core func $i "f"))))"#;
        let refused = ModuleInfo::read(&wat::parse_str(text).unwrap()).unwrap_err().to_string();
        assert!(refused.contains("externref"), "{refused}");
    }

    #[test]
    fn functions_are_listed_with_their_types_in_full() {
        let wasm = wat::parse_str(
            r#"(component
                (core module $m (func (export "f")) (func (export "g") (param i64)))
                (core instance $i (instantiate $m))
                (func $f (canon lift (core func $i "f")))
                (type $t (result (list u8) (error (option (tuple bool string)))))
                (func $g (param "a-b" u64) (canon lift (core func $i "g")))
                (instance $inner (export "f" (func $f)) (export "g" (func $g)))
                (export "f" (func $f))
                (export "some:where/things@0.1.0" (instance $inner))
                (export "t" (type $t)))"#,
        )
        .unwrap();
        let info = ModuleInfo::read(&wasm).unwrap();
        let types = info.component.unwrap().functions;
        let listed = info.exports.iter().zip(&types);
        let listed: Vec<String> =
            listed.map(|(export, ty)| format!("{}: {ty}", export.name)).collect();
        assert_eq!(
            listed,
            [
                "f: func()",
                "some:where/things@0.1.0#f: func()",
                "some:where/things@0.1.0#g: func(a-b: u64)"
            ]
        );
    }
}
