import Glibc

/// Names and numbers of users and groups.
package enum UserDatabase {
    package static func groupID(named name: String) -> UInt32? {
        var entry = unsafe group()
        return unsafe lookUp(&entry, as: { unsafe getgrnam_r(name, $0, $1, $2, $3) }, read: { unsafe $0.gr_gid })
    }

    package static func groupName(of groupID: UInt32) -> String? {
        var entry = unsafe group()
        return unsafe lookUp(
            &entry, as: { unsafe getgrgid_r(groupID, $0, $1, $2, $3) },
            read: { unsafe $0.gr_name.map { unsafe String(cString: $0) } }) ?? nil
    }

    package static func userID(named name: String) -> UInt32? {
        var entry = unsafe passwd()
        return unsafe lookUp(&entry, as: { unsafe getpwnam_r(name, $0, $1, $2, $3) }, read: { unsafe $0.pw_uid })
    }

    package static func userName(of userID: UInt32) -> String? {
        var entry = unsafe passwd()
        return unsafe lookUp(
            &entry, as: { unsafe getpwuid_r(userID, $0, $1, $2, $3) },
            read: { unsafe $0.pw_name.map { unsafe String(cString: $0) } }) ?? nil
    }

    /// The home folder of a user.
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

    /// Calls with more and more room until the entry fits.
    private static func lookUp<Entry, Value>(
        _ entry: inout Entry, as call: Call<Entry>, read: (Entry) -> Value
    ) -> Value? {
        var capacity = 1024
        // A group with a great many members needs more than any first guess;
        // nobody has one that needs more than this.
        while capacity <= 4 << 20 {
            let outcome: (code: CInt, value: Value?) = unsafe withUnsafeMutablePointer(to: &entry) { entry in
                unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { room in
                    guard let base = room.baseAddress else { return (ERANGE, nil) }
                    var found: UnsafeMutablePointer<Entry>?
                    let code = unsafe call(entry, base, room.count, &found)
                    // The names lie in the room, so they are read before it goes.
                    return unsafe (code, found.map { unsafe read($0.pointee) })
                }
            }
            guard outcome.code == ERANGE || outcome.code == EINTR else { return outcome.value }
            if outcome.code == ERANGE { capacity *= 4 }
        }
        return nil
    }
}
