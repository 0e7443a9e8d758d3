import UnixIO

/// The log that the last run has left beside the database, if it did not end by itself.
///
/// SQLite reads it up to the first page that is not whole, and says nothing of
/// what stands behind (sqlite.org/fileformat2.html, 4): after a power cut that
/// was under way, after damage it had been acknowledged.
struct OldLog {
    /// What became of it.
    enum Finding: Equatable {
        case whole
        /// So many transactions stand behind the page that is not whole.
        case brokenOff(commits: Int)
        case unreadable
        case gone
    }

    private let path: String
    private let isGone: Bool

    /// In bytes: the log's header and that of each page in it (4.1).
    private static let header = 32
    private static let frameHeader = 24
    private static let magic: UInt32 = 0x377F_0682
    /// Where the shared memory says how many pages of the log are whole (sqlite.org/walformat.html, 2.1).
    private static let wholeFrames = 16..<20
    private static let framesAtATime = 128

    /// Looks at what is there before SQLite does.
    init(of path: String) {
        self.path = path
        // SQLite removes its shared memory before the log.
        isGone = Self.size(path) > 0 && Self.size(path + "-shm") > 0 && !Self.exists(path + "-wal")
    }

    /// What of it the store has found, which is open now.
    func finding(pageBytes: Int) -> Finding {
        if isGone { return .gone }
        guard Self.size(path + "-wal") > 0 else { return .whole }
        return (try? read(pageBytes: pageBytes)) ?? .whole
    }

    private func read(pageBytes: Int) throws(Errno) -> Finding {
        let file = try FileDescriptor.open(path + "-wal")
        var bytes: [UInt8] = []
        guard try Self.fill(&bytes, to: Self.header, from: file) else { return .unreadable }
        guard Self.number(bytes, 0) | 1 == Self.magic | 1 else { return .unreadable }
        let salts = Array(bytes[16..<24])
        let whole = try wholeFrames()
        let frame = Self.frameHeader + pageBytes
        var (index, commits) = (0, 0)
        repeat {
            bytes.removeAll(keepingCapacity: true)
            _ = try Self.fill(&bytes, to: frame * Self.framesAtATime, from: file)
            for start in stride(from: 0, to: bytes.count - frame + 1, by: frame) {
                let isOfThisRound = bytes[(start + 8)..<(start + 16)].elementsEqual(salts)
                if index >= whole, isOfThisRound, Self.number(bytes, start + 4) != 0 { commits += 1 }
                index += 1
            }
        } while bytes.count == frame * Self.framesAtATime
        return commits > 0 ? .brokenOff(commits: commits) : .whole
    }

    private func wholeFrames() throws(Errno) -> Int {
        var bytes: [UInt8] = []
        guard try Self.fill(&bytes, to: Self.wholeFrames.upperBound, from: FileDescriptor.open(path + "-shm")) else {
            return .max
        }
        // As this machine writes its numbers.
        // As this machine writes its numbers.
        return Int(Self.number(bytes, Self.wholeFrames.lowerBound).bigEndian)
    }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func fill(
        _ bytes: inout [UInt8], to count: Int, from file: borrowing FileDescriptor
    ) throws(Errno) -> Bool {
        while bytes.count < count {
            guard try file.read(appendingTo: &bytes, atMost: count - bytes.count) > 0 else { return false }
        }
        return true
    }

    private static func size(_ path: String) -> Int64 { (try? FileSystem.status(of: path).size) ?? 0 }
    private static func exists(_ path: String) -> Bool { (try? FileSystem.status(of: path)) != nil }
}
