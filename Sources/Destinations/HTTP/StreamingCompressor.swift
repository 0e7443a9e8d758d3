import HTTPTransfer
import IssueCore
import UnixIO

/// Compresses a body on a thread of its own while further lines are being formatted.
///
/// Lines are discarded once they are compressed, so that only the compressed body stays in memory.
final class StreamingCompressor: PreparedBody {
    /// The minimum number of bytes passed to the thread at a time, except at the end. A shorter body is compressed
    /// without a thread.
    private static let pieceBytes = 32 << 10
    /// The maximum number of waiting pieces. It limits the memory for bytes that are not compressed yet.
    private static let maxPieces = 3
    /// A body of at most this size, in bytes, is not worth compressing.
    private static let minCompressed = 1024

    private struct Work: Sendable {
        var pieces: [[UInt8]] = []
        var hasAll = false
        var isAbandoned = false
        /// The whole body. Nil until the thread has ended, if compressing has failed, and once `finish` has taken it.
        var output: [UInt8]?
        var isCompressed = false
        var hasEnded = false
    }

    /// Creates a compressor with a compression level.
    typealias MakeCompressor = @Sendable (Int) throws(GzipError) -> GzipCompressor

    private let frame: BodyFrame
    private let level: Int
    private let makeCompressor: MakeCompressor
    private let work = Monitor(Work())
    /// Whether a thread was started, to which the pieces are passed.
    private var hasThread = false
    private var isFinished = false
    private(set) var isBroken = false
    private var piece: [UInt8] = []
    private(set) var count = 0
    /// The whole body; empty until it is finished.
    private(set) var bytes: [UInt8] = []
    /// Whether `bytes` are compressed with gzip.
    private(set) var isCompressed = false

    /// - Parameter level: The compression level of zlib; 0 for no compression.
    init(
        _ frame: BodyFrame, level: Int,
        makeCompressor: @escaping MakeCompressor = { (level) throws(GzipError) in try GzipCompressor(level: level) }
    ) {
        self.frame = frame
        self.level = level
        self.makeCompressor = makeCompressor
        piece += frame.beginning
    }

    deinit {
        work.withLock { $0.isAbandoned = true }
        work.broadcast()
    }

    func add(_ line: [UInt8]) {
        if count > 0 { piece += frame.separator }
        piece += line
        count += 1
        if level > 0, piece.count >= Self.pieceBytes { passPiece() }
    }

    /// Completes the body. Returns `false` if the body is unusable because zlib failed on the thread.
    func finish() -> Bool {
        if isFinished { return !isBroken }
        isFinished = true
        if count > 0 { piece += frame.end } else { piece = [] }
        if hasThread {
            passPiece()
            work.withLock { $0.hasAll = true }
            work.broadcast()
            let result = work.wait { work -> ([UInt8]?, Bool)? in
                guard work.hasEnded else { return nil }
                // `bytes` keeps the body until it is delivered, so this copy is removed.
                defer { work.output = nil }
                return (work.output, work.isCompressed)
            }
            guard let (output, isCompressed) = result, let output else {
                isBroken = true
                return false
            }
            (bytes, self.isCompressed) = (output, isCompressed)
        } else if level > 0, piece.count > Self.minCompressed, let output = try? compressed(piece) {
            (bytes, isCompressed) = (output, true)
        } else {
            // The body is short, compression is off, or zlib failed, for example for lack of memory.
            bytes = piece
        }
        piece = []
        return true
    }

    private func compressed(_ piece: [UInt8]) throws(GzipError) -> [UInt8] {
        var output: [UInt8] = []
        var compressor = try makeCompressor(level)
        try compressor.append(piece, to: &output)
        try compressor.finish(into: &output)
        return output
    }

    /// Passes the bytes in `piece` to the thread, after waiting while `maxPieces` pieces are not taken yet. If no
    /// thread can be started, keeps the bytes in `piece`.
    private func passPiece() {
        if !hasThread { startThread() }
        guard hasThread, !piece.isEmpty else { return }
        let next = piece
        piece = []
        piece.reserveCapacity(Self.pieceBytes + Self.pieceBytes / 4)
        _ = work.wait { work -> Bool? in
            guard work.pieces.count < Self.maxPieces || work.hasEnded else { return nil }
            work.pieces.append(next)
            return true
        }
        work.broadcast()
    }

    private func startThread() {
        let (work, level, makeCompressor) = (work, level, makeCompressor)
        let thread = try? Thread.start(name: "compress") { Self.run(work, try? makeCompressor(level)) }
        // If no thread could be started, the next call of `passPiece` tries again.
        hasThread = thread != nil
    }

    private static func run(_ work: Monitor<Work>, _ compressor: consuming GzipCompressor?) {
        Thread.yieldToOthers()
        let isCompressed = compressor != nil
        var output: [UInt8] = []
        var hasFailed = false
        do throws(GzipError) {
            while let pieces = nextPieces(work) {
                for piece in pieces {
                    if isCompressed { try compressor?.append(piece, to: &output) } else { output += piece }
                }
            }
            try compressor?.finish(into: &output)
        } catch {
            hasFailed = true
        }
        work.withLock { work in
            work.output = hasFailed ? nil : output
            work.isCompressed = isCompressed
            work.hasEnded = true
        }
        work.broadcast()
    }

    /// Waits for the next pieces and returns them; nil after the last one, or if the body is no longer needed.
    private static func nextPieces(_ work: Monitor<Work>) -> [[UInt8]]? {
        let next = work.wait { work -> [[UInt8]]? in
            guard work.isAbandoned || work.hasAll || !work.pieces.isEmpty else { return nil }
            defer { work.pieces = [] }
            return work.isAbandoned ? [] : work.pieces
        }
        work.broadcast()
        return next?.isEmpty == false ? next : nil
    }
}

@available(*, unavailable)
extension StreamingCompressor: Sendable {}

/// The bytes before, between and after the lines of a body.
package struct BodyFrame: Equatable, Sendable {
    package let beginning: [UInt8]
    /// The bytes between two lines.
    package let separator: [UInt8]
    package let end: [UInt8]

    /// Each line is followed by a line feed.
    package static let lines = BodyFrame(beginning: [], separator: [UInt8(ascii: "\n")], end: [UInt8(ascii: "\n")])

    /// The lines are the elements of an array, which is the only member of an object.
    package static func array(named name: StaticString) -> BodyFrame {
        BodyFrame(
            beginning: Array("{\"\(name)\":[".utf8), separator: [UInt8(ascii: ",")], end: Array("]}".utf8))
    }
}
