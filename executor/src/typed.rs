//! Calls with values in the place of bytes.

use crate::guest::GuestModule;
use crate::{
    Abi, CallOptions, Error, ExportId, HostValues, Instance, Module, Outcome, Result, Signature,
    Trap, Value,
};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// An exported function that is called with values, in the convention [`Abi::Plain`].
///
/// ```no_run
/// use touchstone_executor::guest::GuestModule;
/// use touchstone_executor::{Export, Instance, Module, Result, Value};
///
/// fn add(guest: &GuestModule, module: &dyn Module, instance: &mut dyn Instance) -> Result<()> {
///     let add = Export::of(guest, module, "add")?;
///     match add.call(instance, &[Value::I32(1), Value::I32(2)])? {
///         Ok(sum) => println!("{sum:?}"),
///         Err(trap) => println!("the guest trapped: {trap}"),
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Export {
    id: ExportId,
    name: String,
    signature: Signature,
}

impl Export {
    /// Looks an export of the guest's up in its module. Fails when there is no such function, or no
    /// host can call it.
    pub fn of(guest: &GuestModule, module: &dyn Module, name: &str) -> Result<Self> {
        let id = module.export(name, Abi::Plain)?;
        let exports = &guest.info().exports;
        let found = exports.get(id.index() as usize).filter(|export| export.name == name);
        let signature = found.and_then(|export| export.signature.clone());
        let signature = signature.ok_or(Error::FOREIGN_HANDLE)?;
        Ok(Self { id, name: name.to_owned(), signature })
    }

    /// Its type.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Makes a call on a clean instance. The inner error is the guest's trap. Fails with
    /// [`Error::WrongArguments`] if number or types of the values are not the export's, and those
    /// of [`Instance::call`].
    pub fn call(
        &self,
        instance: &mut dyn Instance,
        params: &[Value],
    ) -> Result<Result<Vec<Value>, Trap>> {
        self.run(params, |input, output| instance.call(self.id, input, output))
    }

    /// The same with options of this call. The errors are those of [`call`](Self::call) and of
    /// [`Instance::call_with`].
    pub fn call_with(
        &self,
        instance: &mut dyn Instance,
        params: &[Value],
        options: CallOptions<'_>,
    ) -> Result<Result<Vec<Value>, Trap>> {
        self.run(params, |input, output| instance.call_with(self.id, input, output, options))
    }

    fn input(&self, params: &[Value]) -> Result<SmallVec<[u8; 64]>> {
        if !self.signature.takes(params) {
            let given: Vec<String> = params.iter().map(|value| value.ty().to_string()).collect();
            return Err(Error::WrongArguments(format!(
                "'{}' of the type {} is called with ({})",
                crate::text::name(&self.name),
                self.signature,
                given.join(", ")
            )));
        }
        let mut input = SmallVec::new();
        for value in params {
            if value.is_opaque() {
                return Err(Error::WrongArguments(format!("a {} can only be null", value.ty())));
            }
            let mut bytes = Vec::with_capacity(value.ty().size());
            value.append_le_bytes(&mut bytes);
            input.extend_from_slice(&bytes);
        }
        Ok(input)
    }

    fn run(
        &self,
        params: &[Value],
        call: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<Outcome>,
    ) -> Result<Result<Vec<Value>, Trap>> {
        let mut output = Vec::new();
        if let Outcome::Trapped(trap) = call(&self.input(params)?, &mut output)? {
            return Ok(Err(trap));
        }
        let mut rest = &output[..];
        let mut take = |ty: &crate::ValueType| {
            let (bytes, tail) = rest.split_at_checked(ty.size())?;
            rest = tail;
            Value::from_le_bytes(*ty, bytes)
        };
        let values: Option<Vec<Value>> = self.signature.results.iter().map(&mut take).collect();
        values.map(Ok).ok_or(Error::Misuse("an output that is not of the export's type"))
    }
}

/// An exported function whose type the host knows, for instances of its own module.
///
/// ```no_run
/// use touchstone_executor::guest::GuestModule;
/// use touchstone_executor::{Instance, Module, Result, TypedExport};
///
/// fn add(guest: &GuestModule, module: &dyn Module, instance: &mut dyn Instance) -> Result<()> {
///     let add = TypedExport::<(i32, i32), i32>::of(guest, module, "add")?;
///     match add.call(instance, (1, 2))? {
///         Ok(sum) => println!("{sum}"),
///         Err(trap) => println!("the guest trapped: {trap}"),
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct TypedExport<P, R> {
    export: Export,
    _types: PhantomData<fn(P) -> R>,
}

impl<P: HostValues, R: HostValues> TypedExport<P, R> {
    /// Looks an export of the guest's up in its module. The errors are those of [`Export::of`], and
    /// [`Error::WrongType`].
    pub fn of(guest: &GuestModule, module: &dyn Module, name: &str) -> Result<Self> {
        let export = Export::of(guest, module, name)?;
        let wanted = Signature::new(&P::types(), &R::types());
        if export.signature != wanted {
            let (name, wanted) = (export.name, Box::new(wanted));
            let found = Box::new(export.signature);
            return Err(Error::WrongType { name, wanted, found });
        }
        Ok(Self { export, _types: PhantomData })
    }

    /// Makes a call on a clean instance. The inner error is the guest's trap. The errors are those
    /// of [`Instance::call`].
    pub fn call(&self, instance: &mut dyn Instance, params: P) -> Result<Result<R, Trap>> {
        let params = self.values(params);
        Self::typed(self.export.call(instance, &params)?)
    }

    /// The same with options of this call. The errors are those of [`Instance::call_with`].
    pub fn call_with(
        &self,
        instance: &mut dyn Instance,
        params: P,
        options: CallOptions<'_>,
    ) -> Result<Result<R, Trap>> {
        let params = self.values(params);
        Self::typed(self.export.call_with(instance, &params, options)?)
    }

    fn values(&self, params: P) -> SmallVec<[Value; 4]> {
        let zeros = self.export.signature.params.iter().map(|ty| Value::zero(*ty));
        let mut values: SmallVec<[Value; 4]> = zeros.collect();
        params.give(&mut values);
        values
    }

    fn typed(ended: Result<Vec<Value>, Trap>) -> Result<Result<R, Trap>> {
        match ended {
            Ok(results) => R::take(&results).map(Ok).ok_or(Error::FOREIGN_HANDLE),
            Err(trap) => Ok(Err(trap)),
        }
    }
}
