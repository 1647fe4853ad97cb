pub use root::*;

const _: () = ::planus::check_version_compatibility("planus-1.3.0");

/// The root namespace
///
/// Generated from these locations:
/// * File `records.fbs`
#[no_implicit_prelude]
#[allow(clippy::needless_lifetimes)]
mod root {
    /// The namespace `records`
    ///
    /// Generated from these locations:
    /// * File `records.fbs`
    pub mod records {
        /// The enum `Color` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Enum `Color` in the file `records.fbs:6`
        #[derive(
            Copy,
            Clone,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            ::serde::Serialize,
            ::serde::Deserialize,
        )]
        #[repr(u8)]
        pub enum Color {
            /// The variant `Red` in the enum `Color`
            Red = 0,

            /// The variant `Green` in the enum `Color`
            Green = 1,

            /// The variant `Blue` in the enum `Color`
            Blue = 2,
        }

        impl Color {
            /// Array containing all valid variants of Color
            pub const ENUM_VALUES: [Self; 3] = [Self::Red, Self::Green, Self::Blue];
        }

        impl ::core::convert::TryFrom<u8> for Color {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(
                value: u8,
            ) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(Color::Red),
                    1 => ::core::result::Result::Ok(Color::Green),
                    2 => ::core::result::Result::Ok(Color::Blue),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind {
                        tag: value as i128,
                    }),
                }
            }
        }

        impl ::core::convert::From<Color> for u8 {
            #[inline]
            fn from(value: Color) -> Self {
                value as u8
            }
        }

        /// # Safety
        /// The Planus compiler correctly calculates `ALIGNMENT` and `SIZE`.
        unsafe impl ::planus::Primitive for Color {
            const ALIGNMENT: usize = 1;
            const SIZE: usize = 1;
        }

        impl ::planus::WriteAsPrimitive<Color> for Color {
            #[inline]
            fn write<const N: usize>(&self, cursor: ::planus::Cursor<'_, N>, buffer_position: u32) {
                (*self as u8).write(cursor, buffer_position);
            }
        }

        impl ::planus::WriteAs<Color> for Color {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Color {
                *self
            }
        }

        impl ::planus::WriteAsDefault<Color, Color> for Color {
            type Prepared = Self;

            #[inline]
            fn prepare(
                &self,
                _builder: &mut ::planus::Builder,
                default: &Color,
            ) -> ::core::option::Option<Color> {
                if self == default {
                    ::core::option::Option::None
                } else {
                    ::core::option::Option::Some(*self)
                }
            }
        }

        impl ::planus::WriteAsOptional<Color> for Color {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ::core::option::Option<Color> {
                ::core::option::Option::Some(*self)
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for Color {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: u8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        impl<'buf> ::planus::VectorReadInner<'buf> for Color {
            type Error = ::planus::errors::UnknownEnumTag;
            const STRIDE: usize = 1;
            #[inline]
            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTag> {
                let value = unsafe { *buffer.buffer.get_unchecked(offset) };
                let value: ::core::result::Result<Self, _> =
                    ::core::convert::TryInto::try_into(value);
                value.map_err(|error_kind| {
                    error_kind.with_error_location(
                        "Color",
                        "VectorRead::from_buffer",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<Color> for Color {
            const STRIDE: usize = 1;

            type Value = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self {
                *self
            }

            #[inline]
            unsafe fn write_values(
                values: &[Self],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 1];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - i as u32,
                    );
                }
            }
        }

        /// The enum `Team` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Enum `Team` in the file `records.fbs:8`
        #[derive(
            Copy,
            Clone,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            ::serde::Serialize,
            ::serde::Deserialize,
        )]
        #[repr(u8)]
        pub enum Team {
            /// The variant `Humans` in the enum `Team`
            Humans = 0,

            /// The variant `Orcs` in the enum `Team`
            Orcs = 1,

            /// The variant `Zombies` in the enum `Team`
            Zombies = 2,

            /// The variant `Robots` in the enum `Team`
            Robots = 3,

            /// The variant `Aliens` in the enum `Team`
            Aliens = 4,
        }

        impl Team {
            /// Array containing all valid variants of Team
            pub const ENUM_VALUES: [Self; 5] =
                [Self::Humans, Self::Orcs, Self::Zombies, Self::Robots, Self::Aliens];
        }

        impl ::core::convert::TryFrom<u8> for Team {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(
                value: u8,
            ) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(Team::Humans),
                    1 => ::core::result::Result::Ok(Team::Orcs),
                    2 => ::core::result::Result::Ok(Team::Zombies),
                    3 => ::core::result::Result::Ok(Team::Robots),
                    4 => ::core::result::Result::Ok(Team::Aliens),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind {
                        tag: value as i128,
                    }),
                }
            }
        }

        impl ::core::convert::From<Team> for u8 {
            #[inline]
            fn from(value: Team) -> Self {
                value as u8
            }
        }

        /// # Safety
        /// The Planus compiler correctly calculates `ALIGNMENT` and `SIZE`.
        unsafe impl ::planus::Primitive for Team {
            const ALIGNMENT: usize = 1;
            const SIZE: usize = 1;
        }

        impl ::planus::WriteAsPrimitive<Team> for Team {
            #[inline]
            fn write<const N: usize>(&self, cursor: ::planus::Cursor<'_, N>, buffer_position: u32) {
                (*self as u8).write(cursor, buffer_position);
            }
        }

        impl ::planus::WriteAs<Team> for Team {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Team {
                *self
            }
        }

        impl ::planus::WriteAsDefault<Team, Team> for Team {
            type Prepared = Self;

            #[inline]
            fn prepare(
                &self,
                _builder: &mut ::planus::Builder,
                default: &Team,
            ) -> ::core::option::Option<Team> {
                if self == default {
                    ::core::option::Option::None
                } else {
                    ::core::option::Option::Some(*self)
                }
            }
        }

        impl ::planus::WriteAsOptional<Team> for Team {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ::core::option::Option<Team> {
                ::core::option::Option::Some(*self)
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for Team {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: u8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        impl<'buf> ::planus::VectorReadInner<'buf> for Team {
            type Error = ::planus::errors::UnknownEnumTag;
            const STRIDE: usize = 1;
            #[inline]
            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTag> {
                let value = unsafe { *buffer.buffer.get_unchecked(offset) };
                let value: ::core::result::Result<Self, _> =
                    ::core::convert::TryInto::try_into(value);
                value.map_err(|error_kind| {
                    error_kind.with_error_location(
                        "Team",
                        "VectorRead::from_buffer",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<Team> for Team {
            const STRIDE: usize = 1;

            type Value = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self {
                *self
            }

            #[inline]
            unsafe fn write_values(
                values: &[Self],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 1];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - i as u32,
                    );
                }
            }
        }

        /// The struct `Vec3` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Struct `Vec3` in the file `records.fbs:10`
        #[derive(
            Copy,
            Clone,
            Debug,
            PartialEq,
            PartialOrd,
            Default,
            ::serde::Serialize,
            ::serde::Deserialize,
        )]
        pub struct Vec3 {
            /// The field `x` in the struct `Vec3`
            pub x: f32,

            /// The field `y` in the struct `Vec3`
            pub y: f32,

            /// The field `z` in the struct `Vec3`
            pub z: f32,
        }

        /// # Safety
        /// The Planus compiler correctly calculates `ALIGNMENT` and `SIZE`.
        unsafe impl ::planus::Primitive for Vec3 {
            const ALIGNMENT: usize = 4;
            const SIZE: usize = 12;
        }

        #[allow(clippy::identity_op)]
        impl ::planus::WriteAsPrimitive<Vec3> for Vec3 {
            #[inline]
            fn write<const N: usize>(&self, cursor: ::planus::Cursor<'_, N>, buffer_position: u32) {
                let (cur, cursor) = cursor.split::<4, 8>();
                self.x.write(cur, buffer_position - 0);
                let (cur, cursor) = cursor.split::<4, 4>();
                self.y.write(cur, buffer_position - 4);
                let (cur, cursor) = cursor.split::<4, 0>();
                self.z.write(cur, buffer_position - 8);
                cursor.finish([]);
            }
        }

        impl ::planus::WriteAsOffset<Vec3> for Vec3 {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Vec3> {
                unsafe {
                    builder.write_with(12, 3, |buffer_position, bytes| {
                        let bytes = bytes.as_mut_ptr();

                        ::planus::WriteAsPrimitive::write(
                            self,
                            ::planus::Cursor::new(
                                &mut *(bytes as *mut [::core::mem::MaybeUninit<u8>; 12]),
                            ),
                            buffer_position,
                        );
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<Vec3> for Vec3 {
            type Prepared = Self;
            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self {
                *self
            }
        }

        impl ::planus::WriteAsOptional<Vec3> for Vec3 {
            type Prepared = Self;
            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(*self)
            }
        }

        /// Reference to a deserialized [Vec3].
        #[derive(Copy, Clone)]
        pub struct Vec3Ref<'a>(::planus::ArrayWithStartOffset<'a, 12>);

        impl<'a> Vec3Ref<'a> {
            /// Getter for the [`x` field](Vec3#structfield.x).
            pub fn x(&self) -> f32 {
                let buffer = self.0.advance_as_array::<4>(0).unwrap();

                f32::from_le_bytes(*buffer.as_array())
            }

            /// Getter for the [`y` field](Vec3#structfield.y).
            pub fn y(&self) -> f32 {
                let buffer = self.0.advance_as_array::<4>(4).unwrap();

                f32::from_le_bytes(*buffer.as_array())
            }

            /// Getter for the [`z` field](Vec3#structfield.z).
            pub fn z(&self) -> f32 {
                let buffer = self.0.advance_as_array::<4>(8).unwrap();

                f32::from_le_bytes(*buffer.as_array())
            }
        }

        impl<'a> ::core::fmt::Debug for Vec3Ref<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("Vec3Ref");
                f.field("x", &self.x());
                f.field("y", &self.y());
                f.field("z", &self.z());
                f.finish()
            }
        }

        impl<'a> ::core::convert::From<::planus::ArrayWithStartOffset<'a, 12>> for Vec3Ref<'a> {
            fn from(array: ::planus::ArrayWithStartOffset<'a, 12>) -> Self {
                Self(array)
            }
        }

        impl<'a> ::core::convert::From<Vec3Ref<'a>> for Vec3 {
            #[allow(unreachable_code)]
            fn from(value: Vec3Ref<'a>) -> Self {
                Self { x: value.x(), y: value.y(), z: value.z() }
            }
        }

        impl<'a, 'b> ::core::cmp::PartialEq<Vec3Ref<'a>> for Vec3Ref<'b> {
            fn eq(&self, other: &Vec3Ref<'_>) -> bool {
                self.x() == other.x() && self.y() == other.y() && self.z() == other.z()
            }
        }

        impl<'a, 'b> ::core::cmp::PartialOrd<Vec3Ref<'a>> for Vec3Ref<'b> {
            fn partial_cmp(
                &self,
                other: &Vec3Ref<'_>,
            ) -> ::core::option::Option<::core::cmp::Ordering> {
                match self.x().partial_cmp(&other.x()) {
                    ::core::option::Option::Some(::core::cmp::Ordering::Equal) => (),
                    o => return o,
                }

                match self.y().partial_cmp(&other.y()) {
                    ::core::option::Option::Some(::core::cmp::Ordering::Equal) => (),
                    o => return o,
                }

                self.z().partial_cmp(&other.z())
            }
        }

        impl<'a> ::planus::TableRead<'a> for Vec3Ref<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let buffer = buffer.advance_as_array::<12>(offset)?;
                ::core::result::Result::Ok(Self(buffer))
            }
        }

        impl<'a> ::planus::VectorRead<'a> for Vec3Ref<'a> {
            const STRIDE: usize = 12;

            #[inline]
            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> Self {
                Self(unsafe { buffer.unchecked_advance_as_array(offset) })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<Vec3> for Vec3 {
            const STRIDE: usize = 12;

            type Value = Vec3;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self::Value {
                *self
            }

            #[inline]
            unsafe fn write_values(
                values: &[Vec3],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 12];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (12 * i) as u32,
                    );
                }
            }
        }

        /// The table `Weapon` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Table `Weapon` in the file `records.fbs:16`
        #[derive(Clone, Debug, PartialEq, PartialOrd, ::serde::Serialize, ::serde::Deserialize)]
        pub struct Weapon {
            /// The field `damage` in the table `Weapon`
            pub damage: i32,
            /// The field `ammo` in the table `Weapon`
            pub ammo: u16,
            /// The field `clip_size` in the table `Weapon`
            pub clip_size: u8,
            /// The field `reload_time` in the table `Weapon`
            pub reload_time: f32,
            /// The field `range` in the table `Weapon`
            pub range: i32,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Weapon {
            fn default() -> Self {
                Self { damage: 0, ammo: 0, clip_size: 0, reload_time: 0.0, range: 0 }
            }
        }

        impl Weapon {
            /// Creates a [WeaponBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> WeaponBuilder<()> {
                WeaponBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_damage: impl ::planus::WriteAsDefault<i32, i32>,
                field_ammo: impl ::planus::WriteAsDefault<u16, u16>,
                field_clip_size: impl ::planus::WriteAsDefault<u8, u8>,
                field_reload_time: impl ::planus::WriteAsDefault<f32, f32>,
                field_range: impl ::planus::WriteAsDefault<i32, i32>,
            ) -> ::planus::Offset<Self> {
                let prepared_damage = field_damage.prepare(builder, &0);
                let prepared_ammo = field_ammo.prepare(builder, &0);
                let prepared_clip_size = field_clip_size.prepare(builder, &0);
                let prepared_reload_time = field_reload_time.prepare(builder, &0.0);
                let prepared_range = field_range.prepare(builder, &0);

                let mut table_writer: ::planus::table_writer::TableWriter<14> =
                    ::core::default::Default::default();
                if prepared_damage.is_some() {
                    table_writer.write_entry::<i32>(0);
                }
                if prepared_reload_time.is_some() {
                    table_writer.write_entry::<f32>(3);
                }
                if prepared_range.is_some() {
                    table_writer.write_entry::<i32>(4);
                }
                if prepared_ammo.is_some() {
                    table_writer.write_entry::<u16>(1);
                }
                if prepared_clip_size.is_some() {
                    table_writer.write_entry::<u8>(2);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_damage) = prepared_damage {
                            object_writer.write::<_, _, 4>(&prepared_damage);
                        }
                        if let ::core::option::Option::Some(prepared_reload_time) =
                            prepared_reload_time
                        {
                            object_writer.write::<_, _, 4>(&prepared_reload_time);
                        }
                        if let ::core::option::Option::Some(prepared_range) = prepared_range {
                            object_writer.write::<_, _, 4>(&prepared_range);
                        }
                        if let ::core::option::Option::Some(prepared_ammo) = prepared_ammo {
                            object_writer.write::<_, _, 2>(&prepared_ammo);
                        }
                        if let ::core::option::Option::Some(prepared_clip_size) = prepared_clip_size
                        {
                            object_writer.write::<_, _, 1>(&prepared_clip_size);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Weapon>> for Weapon {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Weapon> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Weapon>> for Weapon {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Weapon>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Weapon> for Weapon {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Weapon> {
                Weapon::create(
                    builder,
                    self.damage,
                    self.ammo,
                    self.clip_size,
                    self.reload_time,
                    self.range,
                )
            }
        }

        /// Builder for serializing an instance of the [Weapon] type.
        ///
        /// Can be created using the [Weapon::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct WeaponBuilder<State>(State);

        impl WeaponBuilder<()> {
            /// Setter for the [`damage` field](Weapon#structfield.damage).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn damage<T0>(self, value: T0) -> WeaponBuilder<(T0,)>
            where
                T0: ::planus::WriteAsDefault<i32, i32>,
            {
                WeaponBuilder((value,))
            }

            /// Sets the [`damage` field](Weapon#structfield.damage) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn damage_as_default(self) -> WeaponBuilder<(::planus::DefaultValue,)> {
                self.damage(::planus::DefaultValue)
            }
        }

        impl<T0> WeaponBuilder<(T0,)> {
            /// Setter for the [`ammo` field](Weapon#structfield.ammo).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn ammo<T1>(self, value: T1) -> WeaponBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                WeaponBuilder((v0, value))
            }

            /// Sets the [`ammo` field](Weapon#structfield.ammo) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn ammo_as_default(self) -> WeaponBuilder<(T0, ::planus::DefaultValue)> {
                self.ammo(::planus::DefaultValue)
            }
        }

        impl<T0, T1> WeaponBuilder<(T0, T1)> {
            /// Setter for the [`clip_size` field](Weapon#structfield.clip_size).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn clip_size<T2>(self, value: T2) -> WeaponBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAsDefault<u8, u8>,
            {
                let (v0, v1) = self.0;
                WeaponBuilder((v0, v1, value))
            }

            /// Sets the [`clip_size` field](Weapon#structfield.clip_size) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn clip_size_as_default(self) -> WeaponBuilder<(T0, T1, ::planus::DefaultValue)> {
                self.clip_size(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2> WeaponBuilder<(T0, T1, T2)> {
            /// Setter for the [`reload_time` field](Weapon#structfield.reload_time).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn reload_time<T3>(self, value: T3) -> WeaponBuilder<(T0, T1, T2, T3)>
            where
                T3: ::planus::WriteAsDefault<f32, f32>,
            {
                let (v0, v1, v2) = self.0;
                WeaponBuilder((v0, v1, v2, value))
            }

            /// Sets the [`reload_time` field](Weapon#structfield.reload_time) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn reload_time_as_default(
                self,
            ) -> WeaponBuilder<(T0, T1, T2, ::planus::DefaultValue)> {
                self.reload_time(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2, T3> WeaponBuilder<(T0, T1, T2, T3)> {
            /// Setter for the [`range` field](Weapon#structfield.range).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn range<T4>(self, value: T4) -> WeaponBuilder<(T0, T1, T2, T3, T4)>
            where
                T4: ::planus::WriteAsDefault<i32, i32>,
            {
                let (v0, v1, v2, v3) = self.0;
                WeaponBuilder((v0, v1, v2, v3, value))
            }

            /// Sets the [`range` field](Weapon#structfield.range) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn range_as_default(
                self,
            ) -> WeaponBuilder<(T0, T1, T2, T3, ::planus::DefaultValue)> {
                self.range(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2, T3, T4> WeaponBuilder<(T0, T1, T2, T3, T4)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Weapon].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Weapon>
            where
                Self: ::planus::WriteAsOffset<Weapon>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsDefault<i32, i32>,
                T1: ::planus::WriteAsDefault<u16, u16>,
                T2: ::planus::WriteAsDefault<u8, u8>,
                T3: ::planus::WriteAsDefault<f32, f32>,
                T4: ::planus::WriteAsDefault<i32, i32>,
            > ::planus::WriteAs<::planus::Offset<Weapon>> for WeaponBuilder<(T0, T1, T2, T3, T4)>
        {
            type Prepared = ::planus::Offset<Weapon>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Weapon> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsDefault<i32, i32>,
                T1: ::planus::WriteAsDefault<u16, u16>,
                T2: ::planus::WriteAsDefault<u8, u8>,
                T3: ::planus::WriteAsDefault<f32, f32>,
                T4: ::planus::WriteAsDefault<i32, i32>,
            > ::planus::WriteAsOptional<::planus::Offset<Weapon>>
            for WeaponBuilder<(T0, T1, T2, T3, T4)>
        {
            type Prepared = ::planus::Offset<Weapon>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Weapon>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
                T0: ::planus::WriteAsDefault<i32, i32>,
                T1: ::planus::WriteAsDefault<u16, u16>,
                T2: ::planus::WriteAsDefault<u8, u8>,
                T3: ::planus::WriteAsDefault<f32, f32>,
                T4: ::planus::WriteAsDefault<i32, i32>,
            > ::planus::WriteAsOffset<Weapon> for WeaponBuilder<(T0, T1, T2, T3, T4)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Weapon> {
                let (v0, v1, v2, v3, v4) = &self.0;
                Weapon::create(builder, v0, v1, v2, v3, v4)
            }
        }

        /// Reference to a deserialized [Weapon].
        #[derive(Copy, Clone)]
        pub struct WeaponRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> WeaponRef<'a> {
            /// Getter for the [`damage` field](Weapon#structfield.damage).
            #[inline]
            pub fn damage(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "Weapon", "damage")?.unwrap_or(0))
            }

            /// Getter for the [`ammo` field](Weapon#structfield.ammo).
            #[inline]
            pub fn ammo(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(self.0.access(1, "Weapon", "ammo")?.unwrap_or(0))
            }

            /// Getter for the [`clip_size` field](Weapon#structfield.clip_size).
            #[inline]
            pub fn clip_size(&self) -> ::planus::Result<u8> {
                ::core::result::Result::Ok(self.0.access(2, "Weapon", "clip_size")?.unwrap_or(0))
            }

            /// Getter for the [`reload_time` field](Weapon#structfield.reload_time).
            #[inline]
            pub fn reload_time(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0.access(3, "Weapon", "reload_time")?.unwrap_or(0.0),
                )
            }

            /// Getter for the [`range` field](Weapon#structfield.range).
            #[inline]
            pub fn range(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(4, "Weapon", "range")?.unwrap_or(0))
            }
        }

        impl<'a> ::core::fmt::Debug for WeaponRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("WeaponRef");
                f.field("damage", &self.damage());
                f.field("ammo", &self.ammo());
                f.field("clip_size", &self.clip_size());
                f.field("reload_time", &self.reload_time());
                f.field("range", &self.range());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<WeaponRef<'a>> for Weapon {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: WeaponRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    damage: ::core::convert::TryInto::try_into(value.damage()?)?,
                    ammo: ::core::convert::TryInto::try_into(value.ammo()?)?,
                    clip_size: ::core::convert::TryInto::try_into(value.clip_size()?)?,
                    reload_time: ::core::convert::TryInto::try_into(value.reload_time()?)?,
                    range: ::core::convert::TryInto::try_into(value.range()?)?,
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for WeaponRef<'a> {
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

        impl<'a> ::planus::VectorReadInner<'a> for WeaponRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[WeaponRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Weapon>> for Weapon {
            type Value = ::planus::Offset<Weapon>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Weapon>],
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

        impl<'a> ::planus::ReadAsRoot<'a> for WeaponRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[WeaponRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `Monster` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Table `Monster` in the file `records.fbs:24`
        #[derive(Clone, Debug, PartialEq, PartialOrd, ::serde::Serialize, ::serde::Deserialize)]
        pub struct Monster {
            /// The field `pos` in the table `Monster`
            pub pos: ::core::option::Option<self::Vec3>,
            /// The field `mana` in the table `Monster`
            pub mana: i16,
            /// The field `health` in the table `Monster`
            pub health: i16,
            /// The field `name` in the table `Monster`
            pub name: ::core::option::Option<::planus::alloc::string::String>,
            /// The field `team` in the table `Monster`
            pub team: self::Team,
            /// The field `inventory` in the table `Monster`
            pub inventory: ::core::option::Option<::planus::alloc::vec::Vec<u8>>,
            /// The field `color` in the table `Monster`
            pub color: self::Color,
            /// The field `hitbox` in the table `Monster`
            pub hitbox: ::core::option::Option<::planus::alloc::vec::Vec<f64>>,
            /// The field `status` in the table `Monster`
            pub status: ::core::option::Option<::planus::alloc::vec::Vec<i32>>,
            /// The field `weapons` in the table `Monster`
            pub weapons: ::core::option::Option<::planus::alloc::vec::Vec<self::Weapon>>,
            /// The field `path` in the table `Monster`
            pub path: ::core::option::Option<::planus::alloc::vec::Vec<self::Vec3>>,
            /// The field `is_alive` in the table `Monster`
            pub is_alive: bool,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Monster {
            fn default() -> Self {
                Self {
                    pos: ::core::default::Default::default(),
                    mana: 0,
                    health: 0,
                    name: ::core::default::Default::default(),
                    team: self::Team::Humans,
                    inventory: ::core::default::Default::default(),
                    color: self::Color::Red,
                    hitbox: ::core::default::Default::default(),
                    status: ::core::default::Default::default(),
                    weapons: ::core::default::Default::default(),
                    path: ::core::default::Default::default(),
                    is_alive: false,
                }
            }
        }

        impl Monster {
            /// Creates a [MonsterBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> MonsterBuilder<()> {
                MonsterBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_pos: impl ::planus::WriteAsOptional<self::Vec3>,
                field_mana: impl ::planus::WriteAsDefault<i16, i16>,
                field_health: impl ::planus::WriteAsDefault<i16, i16>,
                field_name: impl ::planus::WriteAsOptional<::planus::Offset<::core::primitive::str>>,
                field_team: impl ::planus::WriteAsDefault<self::Team, self::Team>,
                field_inventory: impl ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
                field_color: impl ::planus::WriteAsDefault<self::Color, self::Color>,
                field_hitbox: impl ::planus::WriteAsOptional<::planus::Offset<[f64]>>,
                field_status: impl ::planus::WriteAsOptional<::planus::Offset<[i32]>>,
                field_weapons: impl ::planus::WriteAsOptional<
                    ::planus::Offset<[::planus::Offset<self::Weapon>]>,
                >,
                field_path: impl ::planus::WriteAsOptional<::planus::Offset<[self::Vec3]>>,
                field_is_alive: impl ::planus::WriteAsDefault<bool, bool>,
            ) -> ::planus::Offset<Self> {
                let prepared_pos = field_pos.prepare(builder);
                let prepared_mana = field_mana.prepare(builder, &0);
                let prepared_health = field_health.prepare(builder, &0);
                let prepared_name = field_name.prepare(builder);
                let prepared_team = field_team.prepare(builder, &self::Team::Humans);
                let prepared_inventory = field_inventory.prepare(builder);
                let prepared_color = field_color.prepare(builder, &self::Color::Red);
                let prepared_hitbox = field_hitbox.prepare(builder);
                let prepared_status = field_status.prepare(builder);
                let prepared_weapons = field_weapons.prepare(builder);
                let prepared_path = field_path.prepare(builder);
                let prepared_is_alive = field_is_alive.prepare(builder, &false);

                let mut table_writer: ::planus::table_writer::TableWriter<28> =
                    ::core::default::Default::default();
                if prepared_pos.is_some() {
                    table_writer.write_entry::<self::Vec3>(0);
                }
                if prepared_name.is_some() {
                    table_writer.write_entry::<::planus::Offset<str>>(3);
                }
                if prepared_inventory.is_some() {
                    table_writer.write_entry::<::planus::Offset<[u8]>>(5);
                }
                if prepared_hitbox.is_some() {
                    table_writer.write_entry::<::planus::Offset<[f64]>>(7);
                }
                if prepared_status.is_some() {
                    table_writer.write_entry::<::planus::Offset<[i32]>>(8);
                }
                if prepared_weapons.is_some() {
                    table_writer
                        .write_entry::<::planus::Offset<[::planus::Offset<self::Weapon>]>>(9);
                }
                if prepared_path.is_some() {
                    table_writer.write_entry::<::planus::Offset<[self::Vec3]>>(10);
                }
                if prepared_mana.is_some() {
                    table_writer.write_entry::<i16>(1);
                }
                if prepared_health.is_some() {
                    table_writer.write_entry::<i16>(2);
                }
                if prepared_team.is_some() {
                    table_writer.write_entry::<self::Team>(4);
                }
                if prepared_color.is_some() {
                    table_writer.write_entry::<self::Color>(6);
                }
                if prepared_is_alive.is_some() {
                    table_writer.write_entry::<bool>(11);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_pos) = prepared_pos {
                            object_writer.write::<_, _, 12>(&prepared_pos);
                        }
                        if let ::core::option::Option::Some(prepared_name) = prepared_name {
                            object_writer.write::<_, _, 4>(&prepared_name);
                        }
                        if let ::core::option::Option::Some(prepared_inventory) = prepared_inventory
                        {
                            object_writer.write::<_, _, 4>(&prepared_inventory);
                        }
                        if let ::core::option::Option::Some(prepared_hitbox) = prepared_hitbox {
                            object_writer.write::<_, _, 4>(&prepared_hitbox);
                        }
                        if let ::core::option::Option::Some(prepared_status) = prepared_status {
                            object_writer.write::<_, _, 4>(&prepared_status);
                        }
                        if let ::core::option::Option::Some(prepared_weapons) = prepared_weapons {
                            object_writer.write::<_, _, 4>(&prepared_weapons);
                        }
                        if let ::core::option::Option::Some(prepared_path) = prepared_path {
                            object_writer.write::<_, _, 4>(&prepared_path);
                        }
                        if let ::core::option::Option::Some(prepared_mana) = prepared_mana {
                            object_writer.write::<_, _, 2>(&prepared_mana);
                        }
                        if let ::core::option::Option::Some(prepared_health) = prepared_health {
                            object_writer.write::<_, _, 2>(&prepared_health);
                        }
                        if let ::core::option::Option::Some(prepared_team) = prepared_team {
                            object_writer.write::<_, _, 1>(&prepared_team);
                        }
                        if let ::core::option::Option::Some(prepared_color) = prepared_color {
                            object_writer.write::<_, _, 1>(&prepared_color);
                        }
                        if let ::core::option::Option::Some(prepared_is_alive) = prepared_is_alive {
                            object_writer.write::<_, _, 1>(&prepared_is_alive);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Monster>> for Monster {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monster> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Monster>> for Monster {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Monster>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Monster> for Monster {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monster> {
                Monster::create(
                    builder,
                    self.pos,
                    self.mana,
                    self.health,
                    &self.name,
                    self.team,
                    &self.inventory,
                    self.color,
                    &self.hitbox,
                    &self.status,
                    &self.weapons,
                    &self.path,
                    self.is_alive,
                )
            }
        }

        /// Builder for serializing an instance of the [Monster] type.
        ///
        /// Can be created using the [Monster::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct MonsterBuilder<State>(State);

        impl MonsterBuilder<()> {
            /// Setter for the [`pos` field](Monster#structfield.pos).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn pos<T0>(self, value: T0) -> MonsterBuilder<(T0,)>
            where
                T0: ::planus::WriteAsOptional<self::Vec3>,
            {
                MonsterBuilder((value,))
            }

            /// Sets the [`pos` field](Monster#structfield.pos) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn pos_as_null(self) -> MonsterBuilder<((),)> {
                self.pos(())
            }
        }

        impl<T0> MonsterBuilder<(T0,)> {
            /// Setter for the [`mana` field](Monster#structfield.mana).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn mana<T1>(self, value: T1) -> MonsterBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<i16, i16>,
            {
                let (v0,) = self.0;
                MonsterBuilder((v0, value))
            }

            /// Sets the [`mana` field](Monster#structfield.mana) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn mana_as_default(self) -> MonsterBuilder<(T0, ::planus::DefaultValue)> {
                self.mana(::planus::DefaultValue)
            }
        }

        impl<T0, T1> MonsterBuilder<(T0, T1)> {
            /// Setter for the [`health` field](Monster#structfield.health).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn health<T2>(self, value: T2) -> MonsterBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAsDefault<i16, i16>,
            {
                let (v0, v1) = self.0;
                MonsterBuilder((v0, v1, value))
            }

            /// Sets the [`health` field](Monster#structfield.health) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn health_as_default(self) -> MonsterBuilder<(T0, T1, ::planus::DefaultValue)> {
                self.health(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2> MonsterBuilder<(T0, T1, T2)> {
            /// Setter for the [`name` field](Monster#structfield.name).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn name<T3>(self, value: T3) -> MonsterBuilder<(T0, T1, T2, T3)>
            where
                T3: ::planus::WriteAsOptional<::planus::Offset<::core::primitive::str>>,
            {
                let (v0, v1, v2) = self.0;
                MonsterBuilder((v0, v1, v2, value))
            }

            /// Sets the [`name` field](Monster#structfield.name) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn name_as_null(self) -> MonsterBuilder<(T0, T1, T2, ())> {
                self.name(())
            }
        }

        impl<T0, T1, T2, T3> MonsterBuilder<(T0, T1, T2, T3)> {
            /// Setter for the [`team` field](Monster#structfield.team).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn team<T4>(self, value: T4) -> MonsterBuilder<(T0, T1, T2, T3, T4)>
            where
                T4: ::planus::WriteAsDefault<self::Team, self::Team>,
            {
                let (v0, v1, v2, v3) = self.0;
                MonsterBuilder((v0, v1, v2, v3, value))
            }

            /// Sets the [`team` field](Monster#structfield.team) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn team_as_default(
                self,
            ) -> MonsterBuilder<(T0, T1, T2, T3, ::planus::DefaultValue)> {
                self.team(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2, T3, T4> MonsterBuilder<(T0, T1, T2, T3, T4)> {
            /// Setter for the [`inventory` field](Monster#structfield.inventory).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn inventory<T5>(self, value: T5) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5)>
            where
                T5: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            {
                let (v0, v1, v2, v3, v4) = self.0;
                MonsterBuilder((v0, v1, v2, v3, v4, value))
            }

            /// Sets the [`inventory` field](Monster#structfield.inventory) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn inventory_as_null(self) -> MonsterBuilder<(T0, T1, T2, T3, T4, ())> {
                self.inventory(())
            }
        }

        impl<T0, T1, T2, T3, T4, T5> MonsterBuilder<(T0, T1, T2, T3, T4, T5)> {
            /// Setter for the [`color` field](Monster#structfield.color).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn color<T6>(self, value: T6) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6)>
            where
                T6: ::planus::WriteAsDefault<self::Color, self::Color>,
            {
                let (v0, v1, v2, v3, v4, v5) = self.0;
                MonsterBuilder((v0, v1, v2, v3, v4, v5, value))
            }

            /// Sets the [`color` field](Monster#structfield.color) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn color_as_default(
                self,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, ::planus::DefaultValue)> {
                self.color(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6)> {
            /// Setter for the [`hitbox` field](Monster#structfield.hitbox).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn hitbox<T7>(self, value: T7) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
            where
                T7: ::planus::WriteAsOptional<::planus::Offset<[f64]>>,
            {
                let (v0, v1, v2, v3, v4, v5, v6) = self.0;
                MonsterBuilder((v0, v1, v2, v3, v4, v5, v6, value))
            }

            /// Sets the [`hitbox` field](Monster#structfield.hitbox) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn hitbox_as_null(self) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, ())> {
                self.hitbox(())
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6, T7> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)> {
            /// Setter for the [`status` field](Monster#structfield.status).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn status<T8>(
                self,
                value: T8,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8)>
            where
                T8: ::planus::WriteAsOptional<::planus::Offset<[i32]>>,
            {
                let (v0, v1, v2, v3, v4, v5, v6, v7) = self.0;
                MonsterBuilder((v0, v1, v2, v3, v4, v5, v6, v7, value))
            }

            /// Sets the [`status` field](Monster#structfield.status) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn status_as_null(self) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, ())> {
                self.status(())
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6, T7, T8> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8)> {
            /// Setter for the [`weapons` field](Monster#structfield.weapons).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn weapons<T9>(
                self,
                value: T9,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9)>
            where
                T9: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Weapon>]>>,
            {
                let (v0, v1, v2, v3, v4, v5, v6, v7, v8) = self.0;
                MonsterBuilder((v0, v1, v2, v3, v4, v5, v6, v7, v8, value))
            }

            /// Sets the [`weapons` field](Monster#structfield.weapons) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn weapons_as_null(
                self,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, ())> {
                self.weapons(())
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6, T7, T8, T9>
            MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9)>
        {
            /// Setter for the [`path` field](Monster#structfield.path).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn path<T10>(
                self,
                value: T10,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10)>
            where
                T10: ::planus::WriteAsOptional<::planus::Offset<[self::Vec3]>>,
            {
                let (v0, v1, v2, v3, v4, v5, v6, v7, v8, v9) = self.0;
                MonsterBuilder((v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, value))
            }

            /// Sets the [`path` field](Monster#structfield.path) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn path_as_null(
                self,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, ())> {
                self.path(())
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10>
            MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10)>
        {
            /// Setter for the [`is_alive` field](Monster#structfield.is_alive).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn is_alive<T11>(
                self,
                value: T11,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11)>
            where
                T11: ::planus::WriteAsDefault<bool, bool>,
            {
                let (v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10) = self.0;
                MonsterBuilder((v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, value))
            }

            /// Sets the [`is_alive` field](Monster#structfield.is_alive) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn is_alive_as_default(
                self,
            ) -> MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, ::planus::DefaultValue)>
            {
                self.is_alive(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11>
            MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11)>
        {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Monster].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monster>
            where
                Self: ::planus::WriteAsOffset<Monster>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<self::Vec3>,
                T1: ::planus::WriteAsDefault<i16, i16>,
                T2: ::planus::WriteAsDefault<i16, i16>,
                T3: ::planus::WriteAsOptional<::planus::Offset<::core::primitive::str>>,
                T4: ::planus::WriteAsDefault<self::Team, self::Team>,
                T5: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
                T6: ::planus::WriteAsDefault<self::Color, self::Color>,
                T7: ::planus::WriteAsOptional<::planus::Offset<[f64]>>,
                T8: ::planus::WriteAsOptional<::planus::Offset<[i32]>>,
                T9: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Weapon>]>>,
                T10: ::planus::WriteAsOptional<::planus::Offset<[self::Vec3]>>,
                T11: ::planus::WriteAsDefault<bool, bool>,
            > ::planus::WriteAs<::planus::Offset<Monster>>
            for MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11)>
        {
            type Prepared = ::planus::Offset<Monster>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monster> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<self::Vec3>,
                T1: ::planus::WriteAsDefault<i16, i16>,
                T2: ::planus::WriteAsDefault<i16, i16>,
                T3: ::planus::WriteAsOptional<::planus::Offset<::core::primitive::str>>,
                T4: ::planus::WriteAsDefault<self::Team, self::Team>,
                T5: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
                T6: ::planus::WriteAsDefault<self::Color, self::Color>,
                T7: ::planus::WriteAsOptional<::planus::Offset<[f64]>>,
                T8: ::planus::WriteAsOptional<::planus::Offset<[i32]>>,
                T9: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Weapon>]>>,
                T10: ::planus::WriteAsOptional<::planus::Offset<[self::Vec3]>>,
                T11: ::planus::WriteAsDefault<bool, bool>,
            > ::planus::WriteAsOptional<::planus::Offset<Monster>>
            for MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11)>
        {
            type Prepared = ::planus::Offset<Monster>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Monster>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<self::Vec3>,
                T1: ::planus::WriteAsDefault<i16, i16>,
                T2: ::planus::WriteAsDefault<i16, i16>,
                T3: ::planus::WriteAsOptional<::planus::Offset<::core::primitive::str>>,
                T4: ::planus::WriteAsDefault<self::Team, self::Team>,
                T5: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
                T6: ::planus::WriteAsDefault<self::Color, self::Color>,
                T7: ::planus::WriteAsOptional<::planus::Offset<[f64]>>,
                T8: ::planus::WriteAsOptional<::planus::Offset<[i32]>>,
                T9: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Weapon>]>>,
                T10: ::planus::WriteAsOptional<::planus::Offset<[self::Vec3]>>,
                T11: ::planus::WriteAsDefault<bool, bool>,
            > ::planus::WriteAsOffset<Monster>
            for MonsterBuilder<(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monster> {
                let (v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11) = &self.0;
                Monster::create(builder, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11)
            }
        }

        /// Reference to a deserialized [Monster].
        #[derive(Copy, Clone)]
        pub struct MonsterRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> MonsterRef<'a> {
            /// Getter for the [`pos` field](Monster#structfield.pos).
            #[inline]
            pub fn pos(&self) -> ::planus::Result<::core::option::Option<self::Vec3Ref<'a>>> {
                self.0.access(0, "Monster", "pos")
            }

            /// Getter for the [`mana` field](Monster#structfield.mana).
            #[inline]
            pub fn mana(&self) -> ::planus::Result<i16> {
                ::core::result::Result::Ok(self.0.access(1, "Monster", "mana")?.unwrap_or(0))
            }

            /// Getter for the [`health` field](Monster#structfield.health).
            #[inline]
            pub fn health(&self) -> ::planus::Result<i16> {
                ::core::result::Result::Ok(self.0.access(2, "Monster", "health")?.unwrap_or(0))
            }

            /// Getter for the [`name` field](Monster#structfield.name).
            #[inline]
            pub fn name(
                &self,
            ) -> ::planus::Result<::core::option::Option<&'a ::core::primitive::str>> {
                self.0.access(3, "Monster", "name")
            }

            /// Getter for the [`team` field](Monster#structfield.team).
            #[inline]
            pub fn team(&self) -> ::planus::Result<self::Team> {
                ::core::result::Result::Ok(
                    self.0.access(4, "Monster", "team")?.unwrap_or(self::Team::Humans),
                )
            }

            /// Getter for the [`inventory` field](Monster#structfield.inventory).
            #[inline]
            pub fn inventory(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(5, "Monster", "inventory")
            }

            /// Getter for the [`color` field](Monster#structfield.color).
            #[inline]
            pub fn color(&self) -> ::planus::Result<self::Color> {
                ::core::result::Result::Ok(
                    self.0.access(6, "Monster", "color")?.unwrap_or(self::Color::Red),
                )
            }

            /// Getter for the [`hitbox` field](Monster#structfield.hitbox).
            #[inline]
            pub fn hitbox(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, f64>>> {
                self.0.access(7, "Monster", "hitbox")
            }

            /// Getter for the [`status` field](Monster#structfield.status).
            #[inline]
            pub fn status(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(8, "Monster", "status")
            }

            /// Getter for the [`weapons` field](Monster#structfield.weapons).
            #[inline]
            pub fn weapons(
                &self,
            ) -> ::planus::Result<
                ::core::option::Option<::planus::Vector<'a, ::planus::Result<self::WeaponRef<'a>>>>,
            > {
                self.0.access(9, "Monster", "weapons")
            }

            /// Getter for the [`path` field](Monster#structfield.path).
            #[inline]
            pub fn path(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, self::Vec3Ref<'a>>>>
            {
                self.0.access(10, "Monster", "path")
            }

            /// Getter for the [`is_alive` field](Monster#structfield.is_alive).
            #[inline]
            pub fn is_alive(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0.access(11, "Monster", "is_alive")?.unwrap_or(false),
                )
            }
        }

        impl<'a> ::core::fmt::Debug for MonsterRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("MonsterRef");
                if let ::core::option::Option::Some(field_pos) = self.pos().transpose() {
                    f.field("pos", &field_pos);
                }
                f.field("mana", &self.mana());
                f.field("health", &self.health());
                if let ::core::option::Option::Some(field_name) = self.name().transpose() {
                    f.field("name", &field_name);
                }
                f.field("team", &self.team());
                if let ::core::option::Option::Some(field_inventory) = self.inventory().transpose()
                {
                    f.field("inventory", &field_inventory);
                }
                f.field("color", &self.color());
                if let ::core::option::Option::Some(field_hitbox) = self.hitbox().transpose() {
                    f.field("hitbox", &field_hitbox);
                }
                if let ::core::option::Option::Some(field_status) = self.status().transpose() {
                    f.field("status", &field_status);
                }
                if let ::core::option::Option::Some(field_weapons) = self.weapons().transpose() {
                    f.field("weapons", &field_weapons);
                }
                if let ::core::option::Option::Some(field_path) = self.path().transpose() {
                    f.field("path", &field_path);
                }
                f.field("is_alive", &self.is_alive());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<MonsterRef<'a>> for Monster {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: MonsterRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    pos: value.pos()?.map(::core::convert::Into::into),
                    mana: ::core::convert::TryInto::try_into(value.mana()?)?,
                    health: ::core::convert::TryInto::try_into(value.health()?)?,
                    name: value.name()?.map(::core::convert::Into::into),
                    team: ::core::convert::TryInto::try_into(value.team()?)?,
                    inventory: value.inventory()?.map(|v| v.to_vec()),
                    color: ::core::convert::TryInto::try_into(value.color()?)?,
                    hitbox: if let ::core::option::Option::Some(hitbox) = value.hitbox()? {
                        ::core::option::Option::Some(hitbox.to_vec()?)
                    } else {
                        ::core::option::Option::None
                    },
                    status: if let ::core::option::Option::Some(status) = value.status()? {
                        ::core::option::Option::Some(status.to_vec()?)
                    } else {
                        ::core::option::Option::None
                    },
                    weapons: if let ::core::option::Option::Some(weapons) = value.weapons()? {
                        ::core::option::Option::Some(weapons.to_vec_result()?)
                    } else {
                        ::core::option::Option::None
                    },
                    path: if let ::core::option::Option::Some(path) = value.path()? {
                        ::core::option::Option::Some(path.to_vec()?)
                    } else {
                        ::core::option::Option::None
                    },
                    is_alive: ::core::convert::TryInto::try_into(value.is_alive()?)?,
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for MonsterRef<'a> {
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

        impl<'a> ::planus::VectorReadInner<'a> for MonsterRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[MonsterRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Monster>> for Monster {
            type Value = ::planus::Offset<Monster>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Monster>],
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

        impl<'a> ::planus::ReadAsRoot<'a> for MonsterRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[MonsterRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `Monsters` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Table `Monsters` in the file `records.fbs:39`
        #[derive(Clone, Debug, PartialEq, PartialOrd, ::serde::Serialize, ::serde::Deserialize)]
        pub struct Monsters {
            /// The field `monsters` in the table `Monsters`
            pub monsters: ::core::option::Option<::planus::alloc::vec::Vec<self::Monster>>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Monsters {
            fn default() -> Self {
                Self { monsters: ::core::default::Default::default() }
            }
        }

        impl Monsters {
            /// Creates a [MonstersBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> MonstersBuilder<()> {
                MonstersBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_monsters: impl ::planus::WriteAsOptional<
                    ::planus::Offset<[::planus::Offset<self::Monster>]>,
                >,
            ) -> ::planus::Offset<Self> {
                let prepared_monsters = field_monsters.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<6> =
                    ::core::default::Default::default();
                if prepared_monsters.is_some() {
                    table_writer
                        .write_entry::<::planus::Offset<[::planus::Offset<self::Monster>]>>(0);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_monsters) = prepared_monsters {
                            object_writer.write::<_, _, 4>(&prepared_monsters);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Monsters>> for Monsters {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monsters> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Monsters>> for Monsters {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Monsters>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Monsters> for Monsters {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monsters> {
                Monsters::create(builder, &self.monsters)
            }
        }

        /// Builder for serializing an instance of the [Monsters] type.
        ///
        /// Can be created using the [Monsters::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct MonstersBuilder<State>(State);

        impl MonstersBuilder<()> {
            /// Setter for the [`monsters` field](Monsters#structfield.monsters).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn monsters<T0>(self, value: T0) -> MonstersBuilder<(T0,)>
            where
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Monster>]>>,
            {
                MonstersBuilder((value,))
            }

            /// Sets the [`monsters` field](Monsters#structfield.monsters) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn monsters_as_null(self) -> MonstersBuilder<((),)> {
                self.monsters(())
            }
        }

        impl<T0> MonstersBuilder<(T0,)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Monsters].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monsters>
            where
                Self: ::planus::WriteAsOffset<Monsters>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Monster>]>>,
            > ::planus::WriteAs<::planus::Offset<Monsters>> for MonstersBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<Monsters>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monsters> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Monster>]>>,
            > ::planus::WriteAsOptional<::planus::Offset<Monsters>> for MonstersBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<Monsters>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Monsters>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Monster>]>>,
            > ::planus::WriteAsOffset<Monsters> for MonstersBuilder<(T0,)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Monsters> {
                let (v0,) = &self.0;
                Monsters::create(builder, v0)
            }
        }

        /// Reference to a deserialized [Monsters].
        #[derive(Copy, Clone)]
        pub struct MonstersRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> MonstersRef<'a> {
            /// Getter for the [`monsters` field](Monsters#structfield.monsters).
            #[inline]
            pub fn monsters(
                &self,
            ) -> ::planus::Result<
                ::core::option::Option<
                    ::planus::Vector<'a, ::planus::Result<self::MonsterRef<'a>>>,
                >,
            > {
                self.0.access(0, "Monsters", "monsters")
            }
        }

        impl<'a> ::core::fmt::Debug for MonstersRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("MonstersRef");
                if let ::core::option::Option::Some(field_monsters) = self.monsters().transpose() {
                    f.field("monsters", &field_monsters);
                }
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<MonstersRef<'a>> for Monsters {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: MonstersRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    monsters: if let ::core::option::Option::Some(monsters) = value.monsters()? {
                        ::core::option::Option::Some(monsters.to_vec_result()?)
                    } else {
                        ::core::option::Option::None
                    },
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for MonstersRef<'a> {
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

        impl<'a> ::planus::VectorReadInner<'a> for MonstersRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[MonstersRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Monsters>> for Monsters {
            type Value = ::planus::Offset<Monsters>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Monsters>],
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

        impl<'a> ::planus::ReadAsRoot<'a> for MonstersRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[MonstersRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `Reading` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Table `Reading` in the file `records.fbs:43`
        #[derive(Clone, Debug, PartialEq, PartialOrd, ::serde::Serialize, ::serde::Deserialize)]
        pub struct Reading {
            /// The field `timestamp` in the table `Reading`
            pub timestamp: i64,
            /// The field `value` in the table `Reading`
            pub value: f32,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Reading {
            fn default() -> Self {
                Self { timestamp: 0, value: 0.0 }
            }
        }

        impl Reading {
            /// Creates a [ReadingBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> ReadingBuilder<()> {
                ReadingBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_timestamp: impl ::planus::WriteAsDefault<i64, i64>,
                field_value: impl ::planus::WriteAsDefault<f32, f32>,
            ) -> ::planus::Offset<Self> {
                let prepared_timestamp = field_timestamp.prepare(builder, &0);
                let prepared_value = field_value.prepare(builder, &0.0);

                let mut table_writer: ::planus::table_writer::TableWriter<8> =
                    ::core::default::Default::default();
                if prepared_timestamp.is_some() {
                    table_writer.write_entry::<i64>(0);
                }
                if prepared_value.is_some() {
                    table_writer.write_entry::<f32>(1);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_timestamp) = prepared_timestamp
                        {
                            object_writer.write::<_, _, 8>(&prepared_timestamp);
                        }
                        if let ::core::option::Option::Some(prepared_value) = prepared_value {
                            object_writer.write::<_, _, 4>(&prepared_value);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Reading>> for Reading {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Reading> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Reading>> for Reading {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Reading>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Reading> for Reading {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Reading> {
                Reading::create(builder, self.timestamp, self.value)
            }
        }

        /// Builder for serializing an instance of the [Reading] type.
        ///
        /// Can be created using the [Reading::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct ReadingBuilder<State>(State);

        impl ReadingBuilder<()> {
            /// Setter for the [`timestamp` field](Reading#structfield.timestamp).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn timestamp<T0>(self, value: T0) -> ReadingBuilder<(T0,)>
            where
                T0: ::planus::WriteAsDefault<i64, i64>,
            {
                ReadingBuilder((value,))
            }

            /// Sets the [`timestamp` field](Reading#structfield.timestamp) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn timestamp_as_default(self) -> ReadingBuilder<(::planus::DefaultValue,)> {
                self.timestamp(::planus::DefaultValue)
            }
        }

        impl<T0> ReadingBuilder<(T0,)> {
            /// Setter for the [`value` field](Reading#structfield.value).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn value<T1>(self, value: T1) -> ReadingBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<f32, f32>,
            {
                let (v0,) = self.0;
                ReadingBuilder((v0, value))
            }

            /// Sets the [`value` field](Reading#structfield.value) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn value_as_default(self) -> ReadingBuilder<(T0, ::planus::DefaultValue)> {
                self.value(::planus::DefaultValue)
            }
        }

        impl<T0, T1> ReadingBuilder<(T0, T1)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Reading].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Reading>
            where
                Self: ::planus::WriteAsOffset<Reading>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<T0: ::planus::WriteAsDefault<i64, i64>, T1: ::planus::WriteAsDefault<f32, f32>>
            ::planus::WriteAs<::planus::Offset<Reading>> for ReadingBuilder<(T0, T1)>
        {
            type Prepared = ::planus::Offset<Reading>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Reading> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<T0: ::planus::WriteAsDefault<i64, i64>, T1: ::planus::WriteAsDefault<f32, f32>>
            ::planus::WriteAsOptional<::planus::Offset<Reading>> for ReadingBuilder<(T0, T1)>
        {
            type Prepared = ::planus::Offset<Reading>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Reading>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<T0: ::planus::WriteAsDefault<i64, i64>, T1: ::planus::WriteAsDefault<f32, f32>>
            ::planus::WriteAsOffset<Reading> for ReadingBuilder<(T0, T1)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Reading> {
                let (v0, v1) = &self.0;
                Reading::create(builder, v0, v1)
            }
        }

        /// Reference to a deserialized [Reading].
        #[derive(Copy, Clone)]
        pub struct ReadingRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ReadingRef<'a> {
            /// Getter for the [`timestamp` field](Reading#structfield.timestamp).
            #[inline]
            pub fn timestamp(&self) -> ::planus::Result<i64> {
                ::core::result::Result::Ok(self.0.access(0, "Reading", "timestamp")?.unwrap_or(0))
            }

            /// Getter for the [`value` field](Reading#structfield.value).
            #[inline]
            pub fn value(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(self.0.access(1, "Reading", "value")?.unwrap_or(0.0))
            }
        }

        impl<'a> ::core::fmt::Debug for ReadingRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("ReadingRef");
                f.field("timestamp", &self.timestamp());
                f.field("value", &self.value());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<ReadingRef<'a>> for Reading {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: ReadingRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    timestamp: ::core::convert::TryInto::try_into(value.timestamp()?)?,
                    value: ::core::convert::TryInto::try_into(value.value()?)?,
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for ReadingRef<'a> {
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

        impl<'a> ::planus::VectorReadInner<'a> for ReadingRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[ReadingRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Reading>> for Reading {
            type Value = ::planus::Offset<Reading>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Reading>],
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

        impl<'a> ::planus::ReadAsRoot<'a> for ReadingRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[ReadingRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `TemperatureBatch` in the namespace `records`
        ///
        /// Generated from these locations:
        /// * Table `TemperatureBatch` in the file `records.fbs:48`
        #[derive(Clone, Debug, PartialEq, PartialOrd, ::serde::Serialize, ::serde::Deserialize)]
        pub struct TemperatureBatch {
            /// The field `readings` in the table `TemperatureBatch`
            pub readings: ::core::option::Option<::planus::alloc::vec::Vec<self::Reading>>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for TemperatureBatch {
            fn default() -> Self {
                Self { readings: ::core::default::Default::default() }
            }
        }

        impl TemperatureBatch {
            /// Creates a [TemperatureBatchBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> TemperatureBatchBuilder<()> {
                TemperatureBatchBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_readings: impl ::planus::WriteAsOptional<
                    ::planus::Offset<[::planus::Offset<self::Reading>]>,
                >,
            ) -> ::planus::Offset<Self> {
                let prepared_readings = field_readings.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<6> =
                    ::core::default::Default::default();
                if prepared_readings.is_some() {
                    table_writer
                        .write_entry::<::planus::Offset<[::planus::Offset<self::Reading>]>>(0);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_readings) = prepared_readings {
                            object_writer.write::<_, _, 4>(&prepared_readings);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<TemperatureBatch>> for TemperatureBatch {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<TemperatureBatch> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<TemperatureBatch>> for TemperatureBatch {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<TemperatureBatch>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<TemperatureBatch> for TemperatureBatch {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<TemperatureBatch> {
                TemperatureBatch::create(builder, &self.readings)
            }
        }

        /// Builder for serializing an instance of the [TemperatureBatch] type.
        ///
        /// Can be created using the [TemperatureBatch::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct TemperatureBatchBuilder<State>(State);

        impl TemperatureBatchBuilder<()> {
            /// Setter for the [`readings` field](TemperatureBatch#structfield.readings).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn readings<T0>(self, value: T0) -> TemperatureBatchBuilder<(T0,)>
            where
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Reading>]>>,
            {
                TemperatureBatchBuilder((value,))
            }

            /// Sets the [`readings` field](TemperatureBatch#structfield.readings) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn readings_as_null(self) -> TemperatureBatchBuilder<((),)> {
                self.readings(())
            }
        }

        impl<T0> TemperatureBatchBuilder<(T0,)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [TemperatureBatch].
            #[inline]
            pub fn finish(
                self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<TemperatureBatch>
            where
                Self: ::planus::WriteAsOffset<TemperatureBatch>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Reading>]>>,
            > ::planus::WriteAs<::planus::Offset<TemperatureBatch>>
            for TemperatureBatchBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<TemperatureBatch>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<TemperatureBatch> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Reading>]>>,
            > ::planus::WriteAsOptional<::planus::Offset<TemperatureBatch>>
            for TemperatureBatchBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<TemperatureBatch>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<TemperatureBatch>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
                T0: ::planus::WriteAsOptional<::planus::Offset<[::planus::Offset<self::Reading>]>>,
            > ::planus::WriteAsOffset<TemperatureBatch> for TemperatureBatchBuilder<(T0,)>
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<TemperatureBatch> {
                let (v0,) = &self.0;
                TemperatureBatch::create(builder, v0)
            }
        }

        /// Reference to a deserialized [TemperatureBatch].
        #[derive(Copy, Clone)]
        pub struct TemperatureBatchRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> TemperatureBatchRef<'a> {
            /// Getter for the [`readings` field](TemperatureBatch#structfield.readings).
            #[inline]
            pub fn readings(
                &self,
            ) -> ::planus::Result<
                ::core::option::Option<
                    ::planus::Vector<'a, ::planus::Result<self::ReadingRef<'a>>>,
                >,
            > {
                self.0.access(0, "TemperatureBatch", "readings")
            }
        }

        impl<'a> ::core::fmt::Debug for TemperatureBatchRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("TemperatureBatchRef");
                if let ::core::option::Option::Some(field_readings) = self.readings().transpose() {
                    f.field("readings", &field_readings);
                }
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<TemperatureBatchRef<'a>> for TemperatureBatch {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: TemperatureBatchRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    readings: if let ::core::option::Option::Some(readings) = value.readings()? {
                        ::core::option::Option::Some(readings.to_vec_result()?)
                    } else {
                        ::core::option::Option::None
                    },
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for TemperatureBatchRef<'a> {
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

        impl<'a> ::planus::VectorReadInner<'a> for TemperatureBatchRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location(
                        "[TemperatureBatchRef]",
                        "get",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<TemperatureBatch>> for TemperatureBatch {
            type Value = ::planus::Offset<TemperatureBatch>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<TemperatureBatch>],
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

        impl<'a> ::planus::ReadAsRoot<'a> for TemperatureBatchRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[TemperatureBatchRef]", "read_as_root", 0)
                })
            }
        }
    }
}
