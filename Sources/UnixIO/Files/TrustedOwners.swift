/// The users who may own what this process relies on: root and its own.
///
/// In a user namespace that does not have the host's root (a rootless
/// container, a sandbox) files of root belong to the user that represents all
/// users outside the namespace.
package struct TrustedOwners: Hashable, Sendable {
    package let userID: UInt32
    /// The user id that represents users outside the namespace; nil if it has all users.
    package let outsider: UInt32?

    /// Those of this process.
    package init() {
        self.init(userID: CurrentProcess.userID, outsider: Self.outsiderHere)
    }

    package init(userID: UInt32, outsider: UInt32? = nil) {
        self.userID = userID
        self.outsider = outsider
    }

    package func contains(_ owner: UInt32) -> Bool {
        owner == 0 || owner == userID || owner == outsider
    }

    /// Whether the names in a folder are out of other users' reach.
    package func keep(_ folder: FileStatus) -> Bool {
        folder.kind == .directory && contains(folder.uid) && !isWritableByOthers(folder)
    }

    /// Whether other users can replace the entries of a folder.
    package func isWritableByOthers(_ folder: FileStatus) -> Bool {
        if folder.mode & 0o022 == 0 { return false }
        // In a sticky folder, only their owners can move or remove entries.
        if folder.mode & 0o1000 != 0 { return false }
        // Many distributions give each user a group with the user's own number, and let it write.
        return folder.mode & 0o002 != 0 || folder.gid != userID || folder.uid != userID
    }

    // Asked at each use, since a process may enter a namespace.
    private static var outsiderHere: UInt32? {
        guard let map = IdentityMap.current, let user = map.outsider, !map.contains(user) else { return nil }
        return user
    }
}

/// Which users a user namespace has; see user_namespaces(7).
package struct IdentityMap: Hashable, Sendable {
    /// The first number inside, the first outside, and how many.
    private var ranges: [[UInt64]]
    /// The user id that represents users outside the namespace; nil if it has all users.
    package let outsider: UInt32?

    /// That of this process; nil where `/proc` is not there to ask.
    package static var current: IdentityMap? {
        guard let map = try? FileSystem.read("/proc/self/uid_map", limit: 64 << 10),
            let overflow = try? FileSystem.read("/proc/sys/kernel/overflowuid", limit: 64)
        else { return nil }
        return IdentityMap(map: map, overflow: overflow)
    }

    /// Reads what `/proc/self/uid_map` and `/proc/sys/kernel/overflowuid` say.
    package init(map: [UInt8], overflow: [UInt8]) {
        ranges = String(decoding: map, as: UTF8.self).split(separator: "\n").compactMap { line in
            let numbers = line.split(separator: " ").compactMap { UInt64($0) }
            return numbers.count == 3 ? numbers : nil
        }
        let isWhole = ranges.isEmpty || ranges.contains([0, 0, UInt64(UInt32.max)])
        let digits = String(decoding: overflow.prefix { (0x30...0x39).contains($0) }, as: UTF8.self)
        outsider = isWhole ? nil : UInt32(digits)
    }

    /// Whether the namespace has a user of that number.
    package func contains(_ userID: UInt32) -> Bool {
        ranges.contains { range in UInt64(userID) >= range[0] && UInt64(userID) - range[0] < range[2] }
    }
}
