//! Enums that records, filters and tables call by the same names.

/// An enum whose variants records and the command line write in snake case.
macro_rules! named {
    ($(#[$attribute:meta])* pub enum $name:ident { $($body:tt)* }) => {
        $(#[$attribute])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize,
            serde::Deserialize, strum::Display, strum::EnumString, strum::VariantArray,
            strum::VariantNames,
        )]
        #[serde(rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case")]
        pub enum $name { $($body)* }
    };
}

pub(crate) use named;
