import UnixIO

/// A group of this host, as the file names it and as the kernel does.
package struct HostGroup: Hashable, Sendable {
    package var name: String
    package var groupID: UInt32

    package init(name: String, groupID: UInt32) {
        self.name = name
        self.groupID = groupID
    }

    /// Nil where this host has no group of that name.
    init?(named name: String) {
        let isNumber = name.allSatisfy(\.isASCIIDigit)
        guard let groupID = isNumber ? UInt32(name) : UserDatabase.groupID(named: name), groupID != .max else {
            return nil
        }
        self.init(name: name, groupID: groupID)
    }
}
