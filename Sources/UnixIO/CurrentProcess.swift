import CLinux
import Glibc

/// Properties of the current process.
package enum CurrentProcess {
    /// The process id; in a forked child, that of the child. Needs no system call.
    package static var pid: Int32 { clinux_process_id() }
    package static var parentPID: Int32 { getppid() }
    package static var userID: UInt32 { geteuid() }
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
        // Both are needed, because the limit is ignored if dumps are piped to a program; see core(5).
        var limit = rlimit()
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        _ = clinux_set_dumpable(0)
    }

    /// Changes the effective user and groups of this process to those of another user, until it ends. Requires root,
    /// and must be called before other threads exist.
    ///
    /// - Throws: The error of initgroups(3), setegid(2) or seteuid(2).
    package static func assume(_ user: UserDatabase.User) throws(Errno) {
        try calling { unsafe initgroups(user.name, user.groupID) }
        try calling { setegid(user.groupID) }
        try calling { seteuid(user.userID) }
    }

    /// Runs a closure with the user id that this process had before `assume`, or with the current id if that is not
    /// permitted. During the call, all threads have this id.
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

    /// Sets a variable. Must be called before other threads exist.
    package static func set(_ name: String, to value: String) throws(Errno) {
        try calling { unsafe setenv(name, value, 1) }
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
    /// Delays forks of this process while a closure runs, so that no child process gets an inconsistent state.
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

/// Looks up users and groups by name or id. All functions return nil if there is no entry or the lookup fails.
package enum UserDatabase {
    /// Returns the id of a group.
    package static func groupID(named name: String) -> UInt32? {
        var entry = unsafe group()
        return unsafe lookUp(&entry, as: { unsafe getgrnam_r(name, $0, $1, $2, $3) }, read: { unsafe $0.gr_gid })
    }

    /// Returns the id of a user.
    package static func userID(named name: String) -> UInt32? {
        var entry = unsafe passwd()
        return unsafe lookUp(&entry, as: { unsafe getpwnam_r(name, $0, $1, $2, $3) }, read: { unsafe $0.pw_uid })
    }

    /// A user of this host.
    package struct User: Equatable, Sendable {
        package var name: String
        package var userID: UInt32
        /// The user's primary group.
        package var groupID: UInt32

        package init(name: String, userID: UInt32, groupID: UInt32) {
            (self.name, self.userID, self.groupID) = (name, userID, groupID)
        }
    }

    /// Returns a user by name or, if no user has that name, by id.
    package static func user(named name: String) -> User? {
        var entry = unsafe passwd()
        func read(_ entry: passwd) -> User? {
            unsafe entry.pw_name.map { name in
                unsafe User(name: String(cString: name), userID: entry.pw_uid, groupID: entry.pw_gid)
            }
        }
        let found = unsafe lookUp(&entry, as: { unsafe getpwnam_r(name, $0, $1, $2, $3) }, read: { unsafe read($0) })
        if let found { return found }
        guard name.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt32(name) else { return nil }
        return unsafe lookUp(&entry, as: { unsafe getpwuid_r(number, $0, $1, $2, $3) }, read: { unsafe read($0) })
            ?? nil
    }

    /// Returns the home folder of a user.
    package static func homeFolder(of userID: UInt32) -> String? {
        var entry = unsafe passwd()
        return unsafe lookUp(
            &entry, as: { unsafe getpwuid_r(userID, $0, $1, $2, $3) },
            read: { unsafe $0.pw_dir.map { unsafe String(cString: $0) } }) ?? nil
    }

    private typealias Call<Entry> = (
        UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
    ) -> CInt

    /// Repeats a lookup with a larger buffer until the entry fits.
    private static func lookUp<Entry, Value>(
        _ entry: inout Entry, as call: Call<Entry>, read: (Entry) -> Value
    ) -> Value? {
        var capacity = 1024
        // A group with very many members needs a large buffer, but no realistic group needs more than this.
        while capacity <= 4 << 20 {
            let outcome: (code: CInt, value: Value?) = unsafe withUnsafeMutablePointer(to: &entry) { entry in
                unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { room in
                    guard let base = room.baseAddress else { return (ERANGE, nil) }
                    var found: UnsafeMutablePointer<Entry>?
                    let code = unsafe call(entry, base, room.count, &found)
                    // The strings are in this buffer, so they are read before it is deallocated.
                    return unsafe (code, found.map { unsafe read($0.pointee) })
                }
            }
            guard outcome.code == ERANGE || outcome.code == EINTR else { return outcome.value }
            if outcome.code == ERANGE { capacity *= 4 }
        }
        return nil
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
    /// The daemon is not reachable or cannot run, or a program or database that a command needs is not available.
    case unavailable = 69
    /// The state directory cannot be created or written to.
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

/// The executable or a library that is loaded in this process.
package struct LoadedImage: Hashable, Sendable {
    /// The path; empty for the executable.
    package var path: String
    /// The load address. Subtracting it from an address in memory gives the address in the file.
    package var base: UInt
    /// The range of addresses that contains the code.
    package var code: Range<UInt>
    /// The build id in hexadecimal digits; nil if the linker added none.
    package var buildID: String?

    /// All images that are loaded now, ordered by address.
    ///
    /// The loader holds a lock while its list is read. Forks are delayed during this time, so that a child can also
    /// read the list. A child would deadlock if it was forked while another thread held that lock, for example to load
    /// a library or to unwind a C++ stack.
    package static var all: [LoadedImage] {
        var images: [LoadedImage] = []
        unsafe withUnsafeMutablePointer(to: &images) { images in
            unsafe clinux_visit_images(
                { image, context in
                    guard let image = unsafe image?.pointee, let context = unsafe context else { return }
                    let images = unsafe context.assumingMemoryBound(to: [LoadedImage].self)
                    unsafe images.pointee.append(LoadedImage(image))
                }, images)
        }
        return images.sorted { $0.code.lowerBound < $1.code.lowerBound }
    }

    /// A number that changes whenever an image is loaded or unloaded.
    package static var generation: UInt64 { clinux_images_generation() }

    private init(_ image: clinux_image) {
        path = unsafe image.name.map { unsafe String(cString: $0) } ?? ""
        base = UInt(unsafe image.base)
        code = UInt(unsafe image.start)..<UInt(unsafe image.end)
        if let id = unsafe image.build_id {
            let bytes = unsafe UnsafeBufferPointer(start: id, count: image.build_id_length)
            let digits = Array("0123456789abcdef")
            buildID = unsafe String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        }
    }
}

/// Functions of libraries that may be loaded, but that this program is not linked with.
package enum LoadedSymbols {
    /// Returns the function with a name; nil if no loaded library exports it.
    ///
    /// The type is not checked: the caller must pass the actual type of the function.
    ///
    /// - Parameters:
    ///   - name: The name of the symbol.
    ///   - type: A thin function type, such as `@convention(c) () -> Void`.
    @unsafe package static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        precondition(
            MemoryLayout<Function>.size == MemoryLayout<UInt>.size, "The function type must be thin")
        // NULL searches the program and all libraries, except those loaded with RTLD_LOCAL (RTLD_DEFAULT of dlsym(3)).
        guard let address = unsafe dlsym(nil, name) else { return nil }
        return unsafe unsafeBitCast(address, to: type)
    }

    /// Returns `true` if any loaded library exports a symbol with this name.
    package static func has(_ name: String) -> Bool {
        unsafe dlsym(nil, name) != nil
    }
}

/// The active calls of the current thread.
package enum CallStack {
    /// A position on the call stack.
    package struct Mark: Sendable {
        fileprivate var frame: UInt

        /// The position of the caller.
        package init() {
            frame = clinux_stack_mark()
        }

        fileprivate init(frame: UInt) {
            self.frame = frame
        }

        /// A position below all calls.
        package static var bottom: Mark { Mark(frame: 0) }
    }

    /// Returns the return addresses of the active calls, innermost first, without the calls at or below a mark.
    ///
    /// The addresses are found with frame pointers. C code may not have any, so the list may be incomplete.
    ///
    /// - Parameters:
    ///   - mark: Only calls above this position are returned.
    ///   - capacity: The maximum number of addresses.
    package static func returnAddresses(above mark: Mark = .bottom, atMost capacity: Int) -> [UInt] {
        // Array(unsafeUninitializedCapacity:) would look up the array's type at run time in each call.
        unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: capacity) { buffer in
            let count = unsafe Int(
                clinux_return_addresses(mark.frame, buffer.baseAddress, CInt(clamping: buffer.count)))
            var addresses: [UInt] = []
            addresses.reserveCapacity(count)
            for index in 0..<count { unsafe addresses.append(buffer[index]) }
            return addresses
        }
    }
}
