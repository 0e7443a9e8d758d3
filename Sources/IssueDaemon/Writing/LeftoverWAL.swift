import UnixIO

/// The WAL of the last run, if that run did not close the database.
///
/// SQLite reads a WAL up to the first invalid frame and silently ignores the
/// rest (sqlite.org/fileformat2.html, section 4). After a power cut, the rest
/// was not acknowledged yet; after damage it was. The WAL is read as a plain
/// file: opening and closing the database or its shared memory outside SQLite
/// would release all locks of the process (fcntl(2)).
struct LeftoverWAL {
    /// The result of the check.
    enum Finding: Equatable {
        case whole
        /// The number of transactions after the first invalid frame, which are
        /// lost.
        case brokenOff(commits: Int)
        case unreadable
        case gone
    }

    /// The checksum of SQLite's WAL format, in the byte order of the WAL
    /// (section 4.2).
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

    /// The size in bytes of the WAL's header. A frame is a header and a page
    /// (section 4.1).
    private static let header = 32
    private static let frameHeader = 24
    private static let magic: UInt32 = 0x377F_0682
    private static let pageBytes = 512...65_536
    private static let maxBytesPerStep = 1 << 20

    /// Checks the WAL. Must be called before SQLite opens the database.
    static func finding(besides path: String) -> Finding {
        // SQLite removes the shared memory before the WAL.
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
        let chunk = frame * max(1, maxBytesPerStep / frame)
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
                // Only the last frame of a transaction contains the size of the
                // database.
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
