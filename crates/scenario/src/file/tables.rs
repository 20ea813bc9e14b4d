//! Tables that have keys in common.

/// Declares several tables that share keys. The first has only these; the others add their own, and `shape()` takes
/// the shared part out.
///
/// serde's `flatten` would do, but it buffers the values and loses where they stand.
macro_rules! tables_with_shared_keys {
    (
        shared $shared:tt
        $(#[$meta:meta])* $shape:ident;
        $( $(#[$own_meta:meta])* $table:ident $own:tt )*
    ) => {
        $crate::file::tables::tables_with_shared_keys! { @shape [$(#[$meta])*] $shape $shared }
        $( $crate::file::tables::tables_with_shared_keys! { @table [$(#[$own_meta])*] $table $own $shape $shared } )*
    };
    (@shape [$($meta:tt)*] $shape:ident { $($(#[$doc:meta])* $key:ident: $type:ty,)* }) => {
        $($meta)*
        #[derive(Clone, Default, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $shape {
            $($(#[$doc])* pub(crate) $key: Option<$type>,)*
        }
    };
    (
        @table [$($meta:tt)*] $table:ident { $($(#[$own_doc:meta])* $own_key:ident: $own_type:ty,)* }
        $shape:ident { $($(#[$doc:meta])* $key:ident: $type:ty,)* }
    ) => {
        $($meta)*
        #[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $table {
            $($(#[$own_doc])* pub(crate) $own_key: $own_type,)*
            $($(#[$doc])* $key: Option<$type>,)*
        }

        impl $table {
            /// The keys that this table shares with others.
            pub(crate) fn shape(&self) -> $shape {
                $shape { $($key: self.$key.clone(),)* }
            }
        }
    };
}

pub(crate) use tables_with_shared_keys;
