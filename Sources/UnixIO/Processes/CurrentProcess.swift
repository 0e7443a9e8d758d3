import CLinux
import Glibc

/// What the kernel knows about ourselves.
package enum CurrentProcess {
    /// Ours, a child's own after a fork; costs no call of the kernel.
    package static var pid: Int32 { clinux_process_id() }
    package static var parentPID: Int32 { getppid() }
    package static var userID: UInt32 { geteuid() }
    package static var groupID: UInt32 { getegid() }
    package static var threadID: Int32 { clinux_thread_id() }
    /// A number that identifies this thread among the running ones, never 0. Needs no system call.
    package static var threadMark: UInt { UInt(pthread_self()) }

    /// Whether this process has rights that its caller lacks, by setuid, setgid or file capabilities.
    package static var isPrivileged: Bool { clinux_is_privileged() != 0 }

    /// The file we were started from.
    package static var executable: String? {
        (try? FileSystem.readLink("/proc/self/exe")).map { ProcessFacts.executable(inLink: $0) }
    }

    /// Keeps our memory out of core dumps and away from other processes of the
    /// same user. For a process that holds secrets.
    package static func forbidDumps() {
        // A program that core(5) pipes dumps to ignores the limit, so both are needed.
        var limit = rlimit()
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        _ = clinux_set_dumpable(0)
    }

    /// Gives this process the rights of another user with all groups, until it
    /// ends. Only root can, and only before there are other threads.
    package static func assume(_ user: UserDatabase.User) throws(Errno) {
        try calling { unsafe initgroups(user.name, user.groupID) }
        try calling { setegid(user.groupID) }
        try calling { seteuid(user.userID) }
    }

    /// Runs something with the rights that this process had before `assume`.
    package static func withOriginalRights<Value, Failure: Error>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (own, assumed) = (getuid(), geteuid())
        guard own != assumed, seteuid(own) == 0 else { return try body() }
        defer { precondition(seteuid(assumed) == 0, "The rights of the checked user are lost") }
        return try body()
    }

    /// Raises the number of open files as far as we may, and returns it.
    @discardableResult
    package static func raiseOpenFileLimit() throws(Errno) -> UInt64 {
        var limit = rlimit()
        try calling { unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            try calling { unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
        }
        return UInt64(limit.rlim_cur)
    }
}
