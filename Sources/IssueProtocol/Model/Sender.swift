internal import IssueWire

/// What the kernel says about who sent a record; a sender can't forge it.
package struct Sender: Hashable, Sendable {
    package var uid: UInt32
    package var gid: UInt32
    package var pid: Int32
    package var command: String?
    package var executable: String?
    package var unit: String?

    package init(
        uid: UInt32, gid: UInt32, pid: Int32, command: String? = nil, executable: String? = nil, unit: String? = nil
    ) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.command = command
        self.executable = executable
        self.unit = unit
    }
}
