//! Names and types of the functions of WASI preview 1.

use crate::Signature;
use crate::ValueType::{self, I32, I64};

macro_rules! functions {
    ($($function:ident $name:literal ($($param:ident),*);)*) => {
        /// A function of WASI preview 1.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(super) enum Function {
            $($function,)*
        }

        impl Function {
            /// All of them.
            pub(super) const ALL: &[Self] = &[$(Self::$function,)*];

            /// The import's name.
            pub(super) const fn name(self) -> &'static str {
                match self {
                    $(Self::$function => $name,)*
                }
            }

            /// Types of the parameters.
            const fn params(self) -> &'static [ValueType] {
                match self {
                    $(Self::$function => &[$($param),*],)*
                }
            }
        }
    };
}

functions! {
    ArgsGet "args_get" (I32, I32);
    ArgsSizesGet "args_sizes_get" (I32, I32);
    ClockResGet "clock_res_get" (I32, I32);
    ClockTimeGet "clock_time_get" (I32, I64, I32);
    EnvironGet "environ_get" (I32, I32);
    EnvironSizesGet "environ_sizes_get" (I32, I32);
    FdAdvise "fd_advise" (I32, I64, I64, I32);
    FdAllocate "fd_allocate" (I32, I64, I64);
    FdClose "fd_close" (I32);
    FdDatasync "fd_datasync" (I32);
    FdFdstatGet "fd_fdstat_get" (I32, I32);
    FdFdstatSetFlags "fd_fdstat_set_flags" (I32, I32);
    FdFdstatSetRights "fd_fdstat_set_rights" (I32, I64, I64);
    FdFilestatGet "fd_filestat_get" (I32, I32);
    FdFilestatSetSize "fd_filestat_set_size" (I32, I64);
    FdFilestatSetTimes "fd_filestat_set_times" (I32, I64, I64, I32);
    FdPread "fd_pread" (I32, I32, I32, I64, I32);
    FdPrestatDirName "fd_prestat_dir_name" (I32, I32, I32);
    FdPrestatGet "fd_prestat_get" (I32, I32);
    FdPwrite "fd_pwrite" (I32, I32, I32, I64, I32);
    FdRead "fd_read" (I32, I32, I32, I32);
    FdReaddir "fd_readdir" (I32, I32, I32, I64, I32);
    FdRenumber "fd_renumber" (I32, I32);
    FdSeek "fd_seek" (I32, I64, I32, I32);
    FdSync "fd_sync" (I32);
    FdTell "fd_tell" (I32, I32);
    FdWrite "fd_write" (I32, I32, I32, I32);
    PathCreateDirectory "path_create_directory" (I32, I32, I32);
    PathFilestatGet "path_filestat_get" (I32, I32, I32, I32, I32);
    PathFilestatSetTimes "path_filestat_set_times" (I32, I32, I32, I32, I64, I64, I32);
    PathLink "path_link" (I32, I32, I32, I32, I32, I32, I32);
    PathOpen "path_open" (I32, I32, I32, I32, I32, I64, I64, I32, I32);
    PathReadlink "path_readlink" (I32, I32, I32, I32, I32, I32);
    PathRemoveDirectory "path_remove_directory" (I32, I32, I32);
    PathRename "path_rename" (I32, I32, I32, I32, I32, I32);
    PathSymlink "path_symlink" (I32, I32, I32, I32, I32);
    PathUnlinkFile "path_unlink_file" (I32, I32, I32);
    PollOneoff "poll_oneoff" (I32, I32, I32, I32);
    ProcExit "proc_exit" (I32);
    ProcRaise "proc_raise" (I32);
    RandomGet "random_get" (I32, I32);
    SchedYield "sched_yield" ();
    SockAccept "sock_accept" (I32, I32, I32);
    SockRecv "sock_recv" (I32, I32, I32, I32, I32, I32);
    SockSend "sock_send" (I32, I32, I32, I32, I32);
    SockShutdown "sock_shutdown" (I32, I32);
}

impl Function {
    /// The import's type. All functions return an error code, except `proc_exit`, which never
    /// returns.
    pub(super) fn signature(self) -> Signature {
        let results: &[ValueType] = if self == Self::ProcExit { &[] } else { &[I32] };
        Signature::new(self.params(), results)
    }
}
