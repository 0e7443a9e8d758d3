import CLinux
import Glibc

/// Properties of the current process.
package enum CurrentProcess {
    /// The process id; in a forked child, that of the child. Usually needs no system call.
    package static var pid: Int32 { clinux_process_id() }
    package static var parentPID: Int32 { getppid() }
    /// The effective user id.
    package static var userID: UInt32 { geteuid() }

    /// The effective group id.
    package static var groupID: UInt32 { getegid() }
    package static var threadID: Int32 { clinux_thread_id() }
    /// A nonzero number that no other running thread of this process has. Needs no system call.
    package static var threadMark: UInt { UInt(pthread_self()) }

    /// Whether this process has privileges that its caller lacks, by setuid, setgid or file capabilities.
    package static var isPrivileged: Bool { clinux_is_privileged() != 0 }

    /// The path of the executable; nil if it cannot be read.
    package static var executable: String? {
        (try? FileSystem.readLink("/proc/self/exe")).map { ProcessMetadata.executable(inLink: $0) }
    }

    /// Excludes the memory of this process from core dumps, and prevents other processes of the same user from reading
    /// it. For processes that hold secrets.
    package static func forbidDumps() {
        // The limit alone is not enough, because it is ignored if dumps are piped to a program; see core(5).
        var limit = rlimit()
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        _ = clinux_set_dumpable(0)
    }

    /// Changes the effective user and groups of this process to those of another user. Requires root, and must be
    /// called before other threads exist.
    ///
    /// - Throws: The error of initgroups(3), setegid(2) or seteuid(2).
    package static func assume(_ user: UserDatabase.User) throws(Errno) {
        try calling { unsafe initgroups(user.name, user.groupID) }
        try calling { setegid(user.groupID) }
        try calling { seteuid(user.userID) }
    }

    /// Runs a closure with the user id that this process had before `assume`, or with the current id if the kernel does
    /// not permit the change. During the call, all threads have this id.
    package static func withOriginalRights<Value, Failure: Error>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (own, assumed) = (getuid(), geteuid())
        guard own != assumed, seteuid(own) == 0 else { return try body() }
        defer { precondition(seteuid(assumed) == 0, "The privileges of the assumed user could not be restored") }
        return try body()
    }

    /// Raises the soft limit on open files to the hard limit, and returns the new limit.
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
    /// Ends the process with an exit status.
    package static func exit(_ code: Int32) -> Never {
        Glibc.exit(code)
    }
}

extension CurrentProcess {
    /// Runs another program in this process. Returns only by throwing.
    ///
    /// The program gets the environment and the standard streams of this process. Signals that this process ignores
    /// stay ignored.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments, without the program's own name.
    /// - Throws: The error of execv(3), such as `noSuchFile`.
    package static func replace(by program: String, _ arguments: [String]) throws(Errno) -> Never {
        // Never freed: the new program replaces the memory, or the process ends after the error.
        var words = unsafe ([program] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        _ = unsafe execv(program, words)
        throw .current
    }
}

extension CurrentProcess {
    /// Limits the unused memory that malloc keeps in a process with several threads.
    ///
    /// Must be called before other threads exist.
    package static func keepHeapsSmall() { clinux_keep_heaps_small() }

    /// Returns free memory of malloc to the kernel (malloc_trim). Other threads that allocate memory may have to wait.
    package static func returnFreeMemory() { clinux_return_free_memory() }
}

/// The environment variables of this process.
///
/// All variables count as unset if the process has more privileges than its caller (setuid, setgid or file
/// capabilities). The caller controls the environment, which must not influence how those privileges are used.
///
/// In C, reading variables is not safe while another thread changes them. They may therefore be changed only before
/// other threads exist.
package enum ProcessEnvironment {
    /// The value of a variable; nil if it is not set.
    package static subscript(_ name: String) -> String? {
        guard let value = unsafe clinux_secure_variable(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Removes a variable. Must be called before other threads exist.
    package static func remove(_ name: String) throws(Errno) {
        try calling { unsafe unsetenv(name) }
    }
}

extension CurrentProcess {
    /// Sets the permissions that are removed from all files this process creates; see umask(2).
    ///
    /// Must be called before other threads exist, because all threads share the mask.
    package static func setFileMask(_ mask: UInt32) {
        _ = umask(mask)
    }
}

/// Controls when this process may be forked.
///
/// A child gets a copy of its parent's memory, but only the thread that forked. The work of other threads stays
/// unfinished: their locks are never released, and type metadata that the runtime was creating is never completed. The
/// threads of this package therefore delay forks until they are in a consistent state.
package enum Forks {
    /// Delays forks by other threads while a closure runs, so that no child process gets an inconsistent state.
    ///
    /// Forks are allowed while the closure waits in ``Readiness/wait(_:for:timeout:)``,
    /// ``Poller/wait(into:timeout:)`` or ``Socket/connect(to:timeout:nonBlocking:)``.
    package static func heldOff<Value, Failure: Error>(
        while body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        clinux_forks_hold()
        defer { clinux_forks_release() }
        return try body()
    }

    /// Allows forks while a closure waits, even if this thread delays them.
    package static func admitted<Value, Failure: Error>(
        while body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        clinux_forks_admit()
        defer { clinux_forks_hold_again() }
        return try body()
    }
}

/// Callbacks at the end of the process.
package enum ProcessHooks {
    /// Registers a closure that runs when the process ends by returning from `main` or by calling `exit`.
    ///
    /// The closure must not capture anything and must return soon. It does not run if the process is killed or calls
    /// `_exit`.
    package static func atExit(_ body: @escaping @convention(c) () -> Void) {
        // The call fails only if memory is exhausted. The closure does not run then.
        _ = Glibc.atexit(body)
    }
}

/// The host that this process runs on.
package enum Host {
    /// The name of the host, as `hostname` prints it; `localhost` if it cannot be read.
    package static var name: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        return String(decoding: bytes[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The exit codes of the programs, with the numbers of sysexits.h where there is one.
package enum ExitCode: Int32, Hashable, Sendable {
    case success = 0
    /// Not found, refused, or a check found a fault.
    case refused = 1
    /// The daemon is failing or not reachable. Only `issuectl health` exits with this code.
    case failing = 2
    /// The command line is invalid.
    case usage = 64
    /// The daemon is not reachable or cannot run, or a program that a command needs is not available.
    case unavailable = 69
    /// The folder of the database cannot be created or must not be used.
    case cannotCreate = 73
    /// A temporary failure.
    case tryAgain = 75
    /// The configuration has errors. Only `issued --check` and `issued --print-config` exit with this code.
    case configuration = 78
}

/// An error in a command line.
package struct UsageError: Error, Hashable, Sendable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
