//! Tables of a scenario file: one definition makes the type that the parser fills, and the reference for those who write
//! the file.

/// A key of a table, as its definition describes it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The field's name; in files it has dashes.
    pub(crate) field: &'static str,
    /// The meaning of the key: the lines of its doc comment, which `help scenario` prints.
    pub(crate) about: &'static [&'static str],
    /// How its value is written, with the unit.
    pub(crate) form: &'static str,
}

/// Defines a table. After the type of a key stands how its value is written, then attributes for serde.
macro_rules! table {
    (
        $(#[doc = $of:literal])+
        $name:ident $(, $attribute:meta)* {
            $( $(#[doc = $about:literal])+ $key:ident: $type:ty = $form:literal $(, $serde:meta)* ; )+
        }
    ) => {
        $(#[doc = $of])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        $(#[$attribute])*
        pub struct $name {
            $( $(#[doc = $about])+ $(#[$serde])* pub $key: $type, )+
        }

        impl $name {
            /// The keys of this table.
            pub(crate) const KEYS: &'static [$crate::scenario::Key] = &[
                $( $crate::scenario::Key { field: stringify!($key), about: &[$($about),+], form: $form } ),+
            ];
        }
    };
}

pub(crate) use table;
