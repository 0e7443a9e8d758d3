import UnixIO

/// The log that the last run has left beside the database, if it did not end by itself.
///
/// SQLite reads it up to the first page that is not whole, and says nothing of
/// what stands behind (sqlite.org/fileformat2.html, 4): after a power cut that
/// was under way, after damage it had been acknowledged. It is read by its file
/// alone: whoever opens and closes the database or its shared memory beside
/// SQLite takes all locks of the process with him (fcntl(2)).
struct LeftoverWAL {
    /// What became of it.
    enum Finding: Equatable {
        case whole
        /// So many transactions stand behind the page that is not whole.
        case brokenOff(commits: Int)
        case unreadable
        case gone
    }

    /// A sum over words in the order of bytes that the log was written in (4.2).
    private struct Checksum: Equatable {
        var first: UInt32 = 0
        var second: UInt32 = 0

        mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
            let span = bytes.span
            func word(_ place: Int) -> UInt32 {
                let (a, b) = (UInt32(span[place]), UInt32(span[place + 1]))
                let (c, d) = (UInt32(span[place + 2]), UInt32(span[place + 3]))
                return isBigEndian ? a << 24 | b << 16 | c << 8 | d : d << 24 | c << 16 | b << 8 | a
            }
            for place in stride(from: 0, to: span.count - 7, by: 8) {
                first = first &+ word(place) &+ second
                second = second &+ word(place + 4) &+ first
            }
        }
    }

    /// In bytes: the log's header, and that of each page in it (4.1).
    private static let header = 32
    private static let frameHeader = 24
    private static let magic: UInt32 = 0x377F_0682
    private static let pageBytes = 512...65_536
    private static let bytesAtATime = 1 << 20

    /// Looks at what is there, before SQLite does.
    static func finding(besides path: String) -> Finding {
        // SQLite removes its shared memory before the log.
        if size(path) > 0, size(path + "-shm") > 0, !exists(path + "-wal") { return .gone }
        guard size(path + "-wal") > 0 else { return .whole }
        return (try? read(path + "-wal")) ?? .whole
    }

    private static func read(_ path: String) throws(Errno) -> Finding {
        let file = try FileDescriptor.open(path)
        var bytes: [UInt8] = []
        guard try file.fill(&bytes, to: header), number(bytes, 0) | 1 == magic | 1 else { return .unreadable }
        let isBigEndian = number(bytes, 0) & 1 == 1
        let page = Int(number(bytes, 8))
        let salts = Array(bytes[16..<24])
        var sum = Checksum()
        sum.add(bytes[0..<24], isBigEndian: isBigEndian)
        guard sum == checksum(bytes, 24), pageBytes.contains(page) else { return .unreadable }
        let frame = frameHeader + page
        let chunk = frame * max(1, bytesAtATime / frame)
        var (isWhole, commits) = (true, 0)
        repeat {
            bytes.removeAll(keepingCapacity: true)
            _ = try file.fill(&bytes, to: chunk)
            for start in stride(from: 0, through: bytes.count - frame, by: frame) {
                let isOfThisRound = bytes[(start + 8)..<(start + 16)].elementsEqual(salts)
                if isWhole {
                    sum.add(bytes[start..<(start + 8)], isBigEndian: isBigEndian)
                    sum.add(bytes[(start + frameHeader)..<(start + frame)], isBigEndian: isBigEndian)
                    isWhole = isOfThisRound && sum == checksum(bytes, start + 16)
                }
                // Only the last page of a transaction says how many the database has.
                if !isWhole, isOfThisRound, number(bytes, start + 4) != 0 { commits += 1 }
            }
        } while bytes.count == chunk
        return commits > 0 ? .brokenOff(commits: commits) : .whole
    }

    private static func checksum(_ bytes: [UInt8], _ place: Int) -> Checksum {
        Checksum(first: number(bytes, place), second: number(bytes, place + 4))
    }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func size(_ path: String) -> Int64 { (try? FileSystem.status(of: path).size) ?? 0 }
    private static func exists(_ path: String) -> Bool { (try? FileSystem.status(of: path)) != nil }
}
