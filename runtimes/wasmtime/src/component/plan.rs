//! Types that a codec can be told about.

use super::json::json_name;
use super::shape::word;
use wasmtime::component::Type;

/// A type, as far as codecs know of types.
pub(crate) enum Plan {
    String,
    U32,
    List(Box<Plan>),
    Tuple(Vec<Plan>),
    Record(Vec<Field>),
}

/// A field of a record.
pub(crate) struct Field {
    /// Its name in the component.
    pub(crate) name: String,
    /// Its name in JSON.
    pub(crate) json: String,
    pub(crate) plan: Plan,
}

impl Plan {
    /// # Errors
    ///
    /// When there is a type in it that codecs do not know: its name.
    pub(crate) fn of(ty: &Type) -> Result<Self, &'static str> {
        Ok(match ty {
            Type::String => Self::String,
            Type::U32 => Self::U32,
            Type::List(list) => Self::List(Box::new(Self::of(&list.ty())?)),
            Type::Tuple(tuple) => {
                Self::Tuple(tuple.types().map(|ty| Self::of(&ty)).collect::<Result<_, _>>()?)
            }
            Type::Record(record) => {
                let field = |field: wasmtime::component::types::Field<'_>| {
                    let (name, json) = (field.name.to_owned(), json_name(field.name));
                    Ok::<_, &'static str>(Field { name, json, plan: Self::of(&field.ty)? })
                };
                Self::Record(record.fields().map(field).collect::<Result<_, _>>()?)
            }
            other => return Err(word(other)),
        })
    }
}
