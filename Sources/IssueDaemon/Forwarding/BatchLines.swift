import IssueCore

/// The lines of the batch that is under way: how many they are, and the body that they make all together.
///
/// The lines themselves are there only once a part of them had to be sent.
struct BatchLines {
    static var none: BatchLines { BatchLines(count: 0, bytes: 0, whole: nil) }

    private(set) var count: Int
    private(set) var bytes: Int
    /// Whose records take how many of the bytes.
    private(set) var users: [UInt32: Int] = [:]
    /// All of them as one body, which may be sent again; nothing where one of them has changed since.
    private(set) var whole: (any PreparedBody)?
    /// Each of them, where that was asked for; nothing in the place of one whose record is gone.
    var all: [[UInt8]?]?

    private init(count: Int, bytes: Int, whole: (any PreparedBody)?) {
        self.count = count
        self.bytes = bytes
        self.whole = whole
    }

    init(of walk: Walk) {
        self.init(count: walk.lineCount, bytes: walk.lineBytes, whole: walk.body)
        users = walk.users
    }

    /// None as yet, for which there is a body.
    init(in body: any PreparedBody) {
        self.init(count: 0, bytes: 0, whole: body)
    }

    mutating func add(_ line: [UInt8], of user: UInt32?) {
        whole?.add(line)
        count += 1
        bytes += line.count + 1
        if let user { users[user, default: 0] += line.count + 1 }
    }

    /// Those that were to be sent once more and could not be, since their records are gone.
    var left: Set<Int> { Set((all ?? []).indices.filter { all?[$0] == nil }) }

    /// Leaves only some of them, which have been made.
    mutating func keep(_ left: LineSet) {
        all = all.map { all in all.indices.filter { left.contains($0) }.map { all[$0] } }
        count = all?.count ?? 0
        users = users(in: (all ?? []).reduce(0) { $0 + ($1?.count ?? 0) + 1 })
        bytes = (all ?? []).reduce(0) { $0 + ($1?.count ?? 0) + 1 }
        whole = nil
    }

    /// Whose records take how many bytes of some of the lines, as if each user had the same part of them.
    func users(in bytes: Int) -> [UInt32: Int] {
        let part = Double(bytes) / Double(max(1, self.bytes))
        return users.mapValues { Int(Double($0) * part) }
    }

    mutating func replace(_ line: Int, by other: [UInt8]) {
        all?[line] = other
        whole = nil
    }
}
