//! Calls with values in the place of bytes.

use crate::guest::GuestModule;
use crate::{
    Abi, CallOptions, Error, ExportId, HostValues, Instance, Module, Outcome, Result, Signature,
    Trap, Value,
};
use smallvec::{SmallVec, smallvec};
use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// For the results of a call. Calls within it have one of their own.
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Parameters or results. Few take no allocation.
pub(crate) type Values = SmallVec<[Value; 4]>;

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
        self.check(params)?;
        let ended = self.run(params, |input, output| instance.call(self.id, input, output))?;
        Ok(ended.map(SmallVec::into_vec))
    }

    /// The same with options of this call. The errors are those of [`call`](Self::call) and of
    /// [`Instance::call_with`].
    pub fn call_with(
        &self,
        instance: &mut dyn Instance,
        params: &[Value],
        options: CallOptions<'_>,
    ) -> Result<Result<Vec<Value>, Trap>> {
        self.check(params)?;
        let call =
            |input: &[u8], output: &mut _| instance.call_with(self.id, input, output, options);
        Ok(self.run(params, call)?.map(SmallVec::into_vec))
    }

    /// Fails unless the parameters have the export's types.
    fn check(&self, params: &[Value]) -> Result<()> {
        if !self.signature.takes(params) {
            let given: Vec<String> = params.iter().map(|value| value.ty().to_string()).collect();
            return Err(Error::WrongArguments(format!(
                "'{}' of the type {} is called with ({})",
                crate::text::name(&self.name),
                self.signature,
                given.join(", ")
            )));
        }
        match params.iter().find(|value| value.is_opaque()) {
            Some(value) => Err(Error::WrongArguments(format!("a {} can only be null", value.ty()))),
            None => Ok(()),
        }
    }

    /// Calls with parameters that have the export's types.
    fn run(
        &self,
        params: &[Value],
        call: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<Outcome>,
    ) -> Result<Result<Values, Trap>> {
        let mut input: SmallVec<[u8; 64]> = SmallVec::new();
        for value in params {
            input.extend_from_slice(&value.to_le_bytes()[..value.ty().size()]);
        }
        let mut output = OUTPUT.try_with(Cell::take).unwrap_or_default();
        let ended = call(&input, &mut output);
        let values = self.results(&output);
        // A thread that ends may have none any more.
        let _ = OUTPUT.try_with(|cell| cell.set(output));
        match ended? {
            Outcome::Returned => Ok(Ok(values?)),
            Outcome::Trapped(trap) => Ok(Err(trap)),
        }
    }

    fn results(&self, output: &[u8]) -> Result<Values> {
        let types = &self.signature.results;
        let (mut rest, mut values) = (output, smallvec![Value::I32(0); types.len()]);
        for (value, ty) in values.iter_mut().zip(types) {
            let (bytes, tail) = rest.split_at_checked(ty.size()).unwrap_or_default();
            let other = || Error::Misuse("an output that is not of the export's type");
            *value = Value::from_le_bytes(*ty, bytes).ok_or_else(other)?;
            rest = tail;
        }
        Ok(values)
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
        self.run(params, |input, output| instance.call(self.export.id, input, output))
    }

    /// The same with options of this call. The errors are those of [`Instance::call_with`].
    pub fn call_with(
        &self,
        instance: &mut dyn Instance,
        params: P,
        options: CallOptions<'_>,
    ) -> Result<Result<R, Trap>> {
        let id = self.export.id;
        self.run(params, |input, output| instance.call_with(id, input, output, options))
    }

    fn run(
        &self,
        params: P,
        call: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<Outcome>,
    ) -> Result<Result<R, Trap>> {
        let mut values: Values = smallvec![Value::I32(0); self.export.signature.params.len()];
        params.give(&mut values);
        debug_assert!(self.export.signature.takes(&values), "`HostValues` gives its own types");
        match self.export.run(&values, call)? {
            Ok(results) => R::take(&results).map(Ok).ok_or(Error::FOREIGN_HANDLE),
            Err(trap) => Ok(Err(trap)),
        }
    }
}
