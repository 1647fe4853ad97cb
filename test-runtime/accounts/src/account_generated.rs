pub use root::*;

const _: () = ::planus::check_version_compatibility("planus-1.3.0");

/// The root namespace
///
/// Generated from these locations:
/// * File `account.fbs`
#[no_implicit_prelude]
#[allow(clippy::needless_lifetimes)]
mod root {
    /// The table `Account`
    ///
    /// Generated from these locations:
    /// * Table `Account` in the file `account.fbs:5`
    #[derive(
        Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash, ::serde::Serialize, ::serde::Deserialize,
    )]
    pub struct Account {
        /// The field `mint` in the table `Account`
        pub mint: ::planus::alloc::vec::Vec<u8>,
        /// The field `owner` in the table `Account`
        pub owner: ::planus::alloc::vec::Vec<u8>,
        /// The field `amount` in the table `Account`
        pub amount: u64,
        /// The field `delegate` in the table `Account`
        pub delegate: ::planus::alloc::vec::Vec<u8>,
        /// The field `state` in the table `Account`
        pub state: u8,
        /// The field `native_amount` in the table `Account`
        pub native_amount: u64,
        /// The field `delegated_amount` in the table `Account`
        pub delegated_amount: u64,
        /// The field `close_authority` in the table `Account`
        pub close_authority: ::planus::alloc::vec::Vec<u8>,
    }

    #[allow(clippy::derivable_impls)]
    impl ::core::default::Default for Account {
        fn default() -> Self {
            Self {
                mint: ::core::default::Default::default(),
                owner: ::core::default::Default::default(),
                amount: 0,
                delegate: ::core::default::Default::default(),
                state: 0,
                native_amount: 0,
                delegated_amount: 0,
                close_authority: ::core::default::Default::default(),
            }
        }
    }

    impl Account {
        /// Creates a [AccountBuilder] for serializing an instance of this table.
        #[inline]
        pub fn builder() -> AccountBuilder<()> {
            AccountBuilder(())
        }

        #[allow(clippy::too_many_arguments)]
        pub fn create(
            builder: &mut ::planus::Builder,
            field_mint: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
            field_owner: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
            field_amount: impl ::planus::WriteAsDefault<u64, u64>,
            field_delegate: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
            field_state: impl ::planus::WriteAsDefault<u8, u8>,
            field_native_amount: impl ::planus::WriteAsDefault<u64, u64>,
            field_delegated_amount: impl ::planus::WriteAsDefault<u64, u64>,
            field_close_authority: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
        ) -> ::planus::Offset<Self> {
            let prepared_mint = field_mint.prepare(builder);
            let prepared_owner = field_owner.prepare(builder);
            let prepared_amount = field_amount.prepare(builder, &0);
            let prepared_delegate = field_delegate.prepare(builder);
            let prepared_state = field_state.prepare(builder, &0);
            let prepared_native_amount = field_native_amount.prepare(builder, &0);
            let prepared_delegated_amount = field_delegated_amount.prepare(builder, &0);
            let prepared_close_authority = field_close_authority.prepare(builder);

            let mut table_writer: ::planus::table_writer::TableWriter<20> =
                ::core::default::Default::default();
            if prepared_amount.is_some() {
                table_writer.write_entry::<u64>(2);
            }
            if prepared_native_amount.is_some() {
                table_writer.write_entry::<u64>(5);
            }
            if prepared_delegated_amount.is_some() {
                table_writer.write_entry::<u64>(6);
            }
            table_writer.write_entry::<::planus::Offset<[u8]>>(0);
            table_writer.write_entry::<::planus::Offset<[u8]>>(1);
            table_writer.write_entry::<::planus::Offset<[u8]>>(3);
            table_writer.write_entry::<::planus::Offset<[u8]>>(7);
            if prepared_state.is_some() {
                table_writer.write_entry::<u8>(4);
            }

            unsafe {
                table_writer.finish(builder, |object_writer| {
                    if let ::core::option::Option::Some(prepared_amount) = prepared_amount {
                        object_writer.write::<_, _, 8>(&prepared_amount);
                    }
                    if let ::core::option::Option::Some(prepared_native_amount) =
                        prepared_native_amount
                    {
                        object_writer.write::<_, _, 8>(&prepared_native_amount);
                    }
                    if let ::core::option::Option::Some(prepared_delegated_amount) =
                        prepared_delegated_amount
                    {
                        object_writer.write::<_, _, 8>(&prepared_delegated_amount);
                    }
                    object_writer.write::<_, _, 4>(&prepared_mint);
                    object_writer.write::<_, _, 4>(&prepared_owner);
                    object_writer.write::<_, _, 4>(&prepared_delegate);
                    object_writer.write::<_, _, 4>(&prepared_close_authority);
                    if let ::core::option::Option::Some(prepared_state) = prepared_state {
                        object_writer.write::<_, _, 1>(&prepared_state);
                    }
                });
            }
            builder.current_offset()
        }
    }

    impl ::planus::WriteAs<::planus::Offset<Account>> for Account {
        type Prepared = ::planus::Offset<Self>;

        #[inline]
        fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Account> {
            ::planus::WriteAsOffset::prepare(self, builder)
        }
    }

    impl ::planus::WriteAsOptional<::planus::Offset<Account>> for Account {
        type Prepared = ::planus::Offset<Self>;

        #[inline]
        fn prepare(
            &self,
            builder: &mut ::planus::Builder,
        ) -> ::core::option::Option<::planus::Offset<Account>> {
            ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
        }
    }

    impl ::planus::WriteAsOffset<Account> for Account {
        #[inline]
        fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Account> {
            Account::create(
                builder,
                &self.mint,
                &self.owner,
                self.amount,
                &self.delegate,
                self.state,
                self.native_amount,
                self.delegated_amount,
                &self.close_authority,
            )
        }
    }

    /// Builder for serializing an instance of the [Account] type.
    ///
    /// Can be created using the [Account::builder] method.
    #[derive(Debug)]
    #[must_use]
    pub struct AccountBuilder<State>(State);

    impl AccountBuilder<()> {
        /// Setter for the [`mint` field](Account#structfield.mint).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn mint<T0>(self, value: T0) -> AccountBuilder<(T0,)>
        where
            T0: ::planus::WriteAs<::planus::Offset<[u8]>>,
        {
            AccountBuilder((value,))
        }
    }

    impl<T0> AccountBuilder<(T0,)> {
        /// Setter for the [`owner` field](Account#structfield.owner).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn owner<T1>(self, value: T1) -> AccountBuilder<(T0, T1)>
        where
            T1: ::planus::WriteAs<::planus::Offset<[u8]>>,
        {
            let (v0,) = self.0;
            AccountBuilder((v0, value))
        }
    }

    impl<T0, T1> AccountBuilder<(T0, T1)> {
        /// Setter for the [`amount` field](Account#structfield.amount).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn amount<T2>(self, value: T2) -> AccountBuilder<(T0, T1, T2)>
        where
            T2: ::planus::WriteAsDefault<u64, u64>,
        {
            let (v0, v1) = self.0;
            AccountBuilder((v0, v1, value))
        }

        /// Sets the [`amount` field](Account#structfield.amount) to the default value.
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn amount_as_default(self) -> AccountBuilder<(T0, T1, ::planus::DefaultValue)> {
            self.amount(::planus::DefaultValue)
        }
    }

    impl<T0, T1, T2> AccountBuilder<(T0, T1, T2)> {
        /// Setter for the [`delegate` field](Account#structfield.delegate).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn delegate<T3>(self, value: T3) -> AccountBuilder<(T0, T1, T2, T3)>
        where
            T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
        {
            let (v0, v1, v2) = self.0;
            AccountBuilder((v0, v1, v2, value))
        }
    }

    impl<T0, T1, T2, T3> AccountBuilder<(T0, T1, T2, T3)> {
        /// Setter for the [`state` field](Account#structfield.state).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn state<T4>(self, value: T4) -> AccountBuilder<(T0, T1, T2, T3, T4)>
        where
            T4: ::planus::WriteAsDefault<u8, u8>,
        {
            let (v0, v1, v2, v3) = self.0;
            AccountBuilder((v0, v1, v2, v3, value))
        }

        /// Sets the [`state` field](Account#structfield.state) to the default value.
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn state_as_default(self) -> AccountBuilder<(T0, T1, T2, T3, ::planus::DefaultValue)> {
            self.state(::planus::DefaultValue)
        }
    }

    impl<T0, T1, T2, T3, T4> AccountBuilder<(T0, T1, T2, T3, T4)> {
        /// Setter for the [`native_amount` field](Account#structfield.native_amount).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn native_amount<T5>(self, value: T5) -> AccountBuilder<(T0, T1, T2, T3, T4, T5)>
        where
            T5: ::planus::WriteAsDefault<u64, u64>,
        {
            let (v0, v1, v2, v3, v4) = self.0;
            AccountBuilder((v0, v1, v2, v3, v4, value))
        }

        /// Sets the [`native_amount` field](Account#structfield.native_amount) to the default value.
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn native_amount_as_default(
            self,
        ) -> AccountBuilder<(T0, T1, T2, T3, T4, ::planus::DefaultValue)> {
            self.native_amount(::planus::DefaultValue)
        }
    }

    impl<T0, T1, T2, T3, T4, T5> AccountBuilder<(T0, T1, T2, T3, T4, T5)> {
        /// Setter for the [`delegated_amount` field](Account#structfield.delegated_amount).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn delegated_amount<T6>(self, value: T6) -> AccountBuilder<(T0, T1, T2, T3, T4, T5, T6)>
        where
            T6: ::planus::WriteAsDefault<u64, u64>,
        {
            let (v0, v1, v2, v3, v4, v5) = self.0;
            AccountBuilder((v0, v1, v2, v3, v4, v5, value))
        }

        /// Sets the [`delegated_amount` field](Account#structfield.delegated_amount) to the default value.
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn delegated_amount_as_default(
            self,
        ) -> AccountBuilder<(T0, T1, T2, T3, T4, T5, ::planus::DefaultValue)> {
            self.delegated_amount(::planus::DefaultValue)
        }
    }

    impl<T0, T1, T2, T3, T4, T5, T6> AccountBuilder<(T0, T1, T2, T3, T4, T5, T6)> {
        /// Setter for the [`close_authority` field](Account#structfield.close_authority).
        #[inline]
        #[allow(clippy::type_complexity)]
        pub fn close_authority<T7>(
            self,
            value: T7,
        ) -> AccountBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
        where
            T7: ::planus::WriteAs<::planus::Offset<[u8]>>,
        {
            let (v0, v1, v2, v3, v4, v5, v6) = self.0;
            AccountBuilder((v0, v1, v2, v3, v4, v5, v6, value))
        }
    }

    impl<T0, T1, T2, T3, T4, T5, T6, T7> AccountBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)> {
        /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Account].
        #[inline]
        pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Account>
        where
            Self: ::planus::WriteAsOffset<Account>,
        {
            ::planus::WriteAsOffset::prepare(&self, builder)
        }
    }

    impl<
            T0: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T1: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T2: ::planus::WriteAsDefault<u64, u64>,
            T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T4: ::planus::WriteAsDefault<u8, u8>,
            T5: ::planus::WriteAsDefault<u64, u64>,
            T6: ::planus::WriteAsDefault<u64, u64>,
            T7: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAs<::planus::Offset<Account>>
        for AccountBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
    {
        type Prepared = ::planus::Offset<Account>;

        #[inline]
        fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Account> {
            ::planus::WriteAsOffset::prepare(self, builder)
        }
    }

    impl<
            T0: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T1: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T2: ::planus::WriteAsDefault<u64, u64>,
            T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T4: ::planus::WriteAsDefault<u8, u8>,
            T5: ::planus::WriteAsDefault<u64, u64>,
            T6: ::planus::WriteAsDefault<u64, u64>,
            T7: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOptional<::planus::Offset<Account>>
        for AccountBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
    {
        type Prepared = ::planus::Offset<Account>;

        #[inline]
        fn prepare(
            &self,
            builder: &mut ::planus::Builder,
        ) -> ::core::option::Option<::planus::Offset<Account>> {
            ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
        }
    }

    impl<
            T0: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T1: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T2: ::planus::WriteAsDefault<u64, u64>,
            T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T4: ::planus::WriteAsDefault<u8, u8>,
            T5: ::planus::WriteAsDefault<u64, u64>,
            T6: ::planus::WriteAsDefault<u64, u64>,
            T7: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOffset<Account> for AccountBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
    {
        #[inline]
        fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Account> {
            let (v0, v1, v2, v3, v4, v5, v6, v7) = &self.0;
            Account::create(builder, v0, v1, v2, v3, v4, v5, v6, v7)
        }
    }

    /// Reference to a deserialized [Account].
    #[derive(Copy, Clone)]
    pub struct AccountRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

    impl<'a> AccountRef<'a> {
        /// Getter for the [`mint` field](Account#structfield.mint).
        #[inline]
        pub fn mint(&self) -> ::planus::Result<&'a [u8]> {
            self.0.access_required(0, "Account", "mint")
        }

        /// Getter for the [`owner` field](Account#structfield.owner).
        #[inline]
        pub fn owner(&self) -> ::planus::Result<&'a [u8]> {
            self.0.access_required(1, "Account", "owner")
        }

        /// Getter for the [`amount` field](Account#structfield.amount).
        #[inline]
        pub fn amount(&self) -> ::planus::Result<u64> {
            ::core::result::Result::Ok(self.0.access(2, "Account", "amount")?.unwrap_or(0))
        }

        /// Getter for the [`delegate` field](Account#structfield.delegate).
        #[inline]
        pub fn delegate(&self) -> ::planus::Result<&'a [u8]> {
            self.0.access_required(3, "Account", "delegate")
        }

        /// Getter for the [`state` field](Account#structfield.state).
        #[inline]
        pub fn state(&self) -> ::planus::Result<u8> {
            ::core::result::Result::Ok(self.0.access(4, "Account", "state")?.unwrap_or(0))
        }

        /// Getter for the [`native_amount` field](Account#structfield.native_amount).
        #[inline]
        pub fn native_amount(&self) -> ::planus::Result<u64> {
            ::core::result::Result::Ok(self.0.access(5, "Account", "native_amount")?.unwrap_or(0))
        }

        /// Getter for the [`delegated_amount` field](Account#structfield.delegated_amount).
        #[inline]
        pub fn delegated_amount(&self) -> ::planus::Result<u64> {
            ::core::result::Result::Ok(
                self.0.access(6, "Account", "delegated_amount")?.unwrap_or(0),
            )
        }

        /// Getter for the [`close_authority` field](Account#structfield.close_authority).
        #[inline]
        pub fn close_authority(&self) -> ::planus::Result<&'a [u8]> {
            self.0.access_required(7, "Account", "close_authority")
        }
    }

    impl<'a> ::core::fmt::Debug for AccountRef<'a> {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            let mut f = f.debug_struct("AccountRef");
            f.field("mint", &self.mint());
            f.field("owner", &self.owner());
            f.field("amount", &self.amount());
            f.field("delegate", &self.delegate());
            f.field("state", &self.state());
            f.field("native_amount", &self.native_amount());
            f.field("delegated_amount", &self.delegated_amount());
            f.field("close_authority", &self.close_authority());
            f.finish()
        }
    }

    impl<'a> ::core::convert::TryFrom<AccountRef<'a>> for Account {
        type Error = ::planus::Error;

        #[allow(unreachable_code)]
        fn try_from(value: AccountRef<'a>) -> ::planus::Result<Self> {
            ::core::result::Result::Ok(Self {
                mint: value.mint()?.to_vec(),
                owner: value.owner()?.to_vec(),
                amount: ::core::convert::TryInto::try_into(value.amount()?)?,
                delegate: value.delegate()?.to_vec(),
                state: ::core::convert::TryInto::try_into(value.state()?)?,
                native_amount: ::core::convert::TryInto::try_into(value.native_amount()?)?,
                delegated_amount: ::core::convert::TryInto::try_into(value.delegated_amount()?)?,
                close_authority: value.close_authority()?.to_vec(),
            })
        }
    }

    impl<'a> ::planus::TableRead<'a> for AccountRef<'a> {
        #[inline]
        fn from_buffer(
            buffer: ::planus::SliceWithStartOffset<'a>,
            offset: usize,
        ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
            ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(
                buffer, offset,
            )?))
        }
    }

    impl<'a> ::planus::VectorReadInner<'a> for AccountRef<'a> {
        type Error = ::planus::Error;
        const STRIDE: usize = 4;

        unsafe fn from_buffer(
            buffer: ::planus::SliceWithStartOffset<'a>,
            offset: usize,
        ) -> ::planus::Result<Self> {
            ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                error_kind.with_error_location("[AccountRef]", "get", buffer.offset_from_start)
            })
        }
    }

    /// # Safety
    /// The planus compiler generates implementations that initialize
    /// the bytes in `write_values`.
    unsafe impl ::planus::VectorWrite<::planus::Offset<Account>> for Account {
        type Value = ::planus::Offset<Account>;
        const STRIDE: usize = 4;
        #[inline]
        fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
            ::planus::WriteAs::prepare(self, builder)
        }

        #[inline]
        unsafe fn write_values(
            values: &[::planus::Offset<Account>],
            bytes: *mut ::core::mem::MaybeUninit<u8>,
            buffer_position: u32,
        ) {
            let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
            for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                ::planus::WriteAsPrimitive::write(
                    v,
                    ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                    buffer_position - (Self::STRIDE * i) as u32,
                );
            }
        }
    }

    impl<'a> ::planus::ReadAsRoot<'a> for AccountRef<'a> {
        fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
            ::planus::TableRead::from_buffer(
                ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                0,
            )
            .map_err(|error_kind| error_kind.with_error_location("[AccountRef]", "read_as_root", 0))
        }
    }
}
