import Glibc

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

    /// Returns the user with a name or, if there is none and the name is a number, the user with that id.
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
        // A group with very many members needs a large buffer, but no realistic group needs more than 4 MiB.
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
