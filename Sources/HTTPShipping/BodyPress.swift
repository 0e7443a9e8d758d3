import HTTPTransfer
import IssueCore
import UnixIO

/// Compresses a body on a thread of its own, while the next of its lines are still being made.
final class BodyPress: PreparedBody {
    /// What comes in one piece; a body that is shorter is compressed when it is sent.
    private static let pieceBytes = 64 << 10
    /// How many pieces may wait, so that a body is not in memory twice.
    private static let mostPieces = 4

    private struct Work: Sendable {
        var pieces: [[UInt8]] = []
        var hasAll = false
        var isAbandoned = false
        var result: [UInt8]?
        var hasEnded = false
    }

    private let frame: BodyFrame
    private let level: Int
    private let work = Monitor(Work())
    private var piece: [UInt8] = []
    private var count = 0
    private var isRunning = false
    private var hasFailed = false

    init(_ frame: BodyFrame, level: Int) {
        self.frame = frame
        self.level = level
        piece.reserveCapacity(Self.pieceBytes * 2)
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
        if piece.count >= Self.pieceBytes { pass() }
    }

    /// The compressed body of so many lines, or nothing where it has to be made at once.
    func finished(_ lines: Int) -> [UInt8]? {
        guard isRunning, !hasFailed, lines == count else { return nil }
        piece += frame.end
        pass()
        work.withLock { $0.hasAll = true }
        work.broadcast()
        return work.wait { $0.hasEnded ? .some($0.result) : nil } ?? nil
    }

    private func pass() {
        if !isRunning { start() }
        guard !hasFailed else { return piece.removeAll(keepingCapacity: true) }
        let next = piece
        piece = []
        piece.reserveCapacity(Self.pieceBytes * 2)
        _ = work.wait { work -> Bool? in
            guard work.pieces.count < Self.mostPieces || work.hasEnded else { return nil }
            work.pieces.append(next)
            return true
        }
        work.broadcast()
    }

    private func start() {
        isRunning = true
        let (work, level) = (work, level)
        let thread = try? Thread.start(name: "compress") { Self.run(work, level) }
        hasFailed = thread == nil
    }

    private static func run(_ work: Monitor<Work>, _ level: Int) {
        let result = try? compressed(work, level)
        work.withLock { work in
            work.result = result ?? nil
            work.hasEnded = true
        }
        work.broadcast()
    }

    private static func compressed(_ work: Monitor<Work>, _ level: Int) throws(GzipError) -> [UInt8]? {
        var compressor = try GzipCompressor(level: level)
        var output: [UInt8] = []
        while true {
            let next = work.wait { work -> [[UInt8]]? in
                guard work.isAbandoned || work.hasAll || !work.pieces.isEmpty else { return nil }
                let pieces = work.isAbandoned ? [] : work.pieces
                work.pieces = []
                return pieces
            }
            work.broadcast()
            for piece in next ?? [] { try compressor.append(piece, to: &output) }
            let state = work.withLock { ($0.isAbandoned, $0.hasAll && $0.pieces.isEmpty) }
            if state.0 { return nil }
            if state.1 { break }
        }
        try compressor.finish(into: &output)
        return output
    }
}

@available(*, unavailable)
extension BodyPress: Sendable {}
