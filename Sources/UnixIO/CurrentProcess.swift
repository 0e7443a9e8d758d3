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
        (try? FileSystem.readLink("/proc/self/exe")).map { ProcessMetadata.executable(inLink: $0) }
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

extension CurrentProcess {
    /// Ends the process with a code for whoever started it.
    package static func exit(_ code: Int32) -> Never {
        Glibc.exit(code)
    }
}

extension CurrentProcess {
    /// Has a process of several threads keep little memory that it does not use.
    ///
    /// It has to come before there are threads.
    package static func keepHeapsSmall() { clinux_keep_heaps_small() }
}

/// The environment variables of this process.
///
/// In a program that has more rights than its caller (setuid, setgid or file
/// capabilities) there are none: the environment is the caller's, and must not
/// decide what those rights are used for.
///
/// Reading while another thread changes them is not safe in C, so only what
/// runs before any thread is started may change them.
package enum Environment {
    package static subscript(_ name: String) -> String? {
        guard let value = unsafe clinux_secure_variable(name) else { return nil }
        return unsafe String(cString: value)
    }

    package static func set(_ name: String, to value: String) throws(Errno) {
        try calling { unsafe setenv(name, value, 1) }
    }

    package static func remove(_ name: String) throws(Errno) {
        try calling { unsafe unsetenv(name) }
    }
}

extension CurrentProcess {
    /// Takes rights away from all files that this process makes from now on; see umask(2).
    ///
    /// Only before there are other threads, which share it.
    package static func setFileMask(_ mask: UInt32) {
        _ = umask(mask)
    }
}

/// When this process may be forked.
///
/// A child has its parent's memory as it is, but of its threads only the one
/// that forked. What another of them has half done stays so: a lock is never
/// released, and a type that the runtime was making never ready. A thread of
/// ours has forks wait until it is not in the midst of anything.
package enum Forks {
    /// Does something that no child finds half done.
    ///
    /// A wait for a descriptor lets forks happen meanwhile, whoever waits.
    package static func heldOff<Value, Failure: Error>(
        while body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        clinux_forks_hold()
        defer { clinux_forks_release() }
        return try body()
    }

    /// Lets forks happen during a wait, where this thread holds them off.
    package static func admitted<Value, Failure: Error>(
        while body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        clinux_forks_admit()
        defer { clinux_forks_hold_again() }
        return try body()
    }
}

/// What a library wants done at turning points of the process it lives in.
package enum ProcessHooks {
    /// Runs the body when the process ends by returning from main or by `exit`.
    ///
    /// The body must not capture anything and must end soon; a process that is
    /// killed, or ends by `_exit`, never runs it.
    package static func atExit(_ body: @escaping @convention(c) () -> Void) {
        // It fails only for want of memory, and then there is nothing to do.
        _ = Glibc.atexit(body)
    }
}

/// The machine we run on.
package enum Host {
    /// Its name, as `hostname` prints it.
    package static var name: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        return String(decoding: bytes[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A number drawn anew at each start of the host.
    package static var bootID: String? {
        guard let text = try? FileSystem.read("/proc/sys/kernel/random/boot_id", limit: 256) else { return nil }
        return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
