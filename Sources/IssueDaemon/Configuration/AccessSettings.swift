/// Who may see and steer beside root and the daemon's own user (`[Access]`).
package struct AccessSettings: Hashable, Sendable {
    package var readers: [HostGroup] = []
    package var operators: [HostGroup] = []
    /// Whether systemd's container ranges hold no ids of people.
    package var containerUsers = true

    package init() {}

    package var readerIDs: Set<UInt32> { Set(readers.map(\.groupID)) }
    package var operatorIDs: Set<UInt32> { Set(operators.map(\.groupID)) }
}
