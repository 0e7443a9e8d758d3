import HTTPTransfer
import IssueCore
import UnixIO

/// Compresses a body on a thread of its own, while the next of its lines are still being made.
///
/// None of its lines is kept: when all have come, there is the body as it goes, and no more.
final class StreamingCompressor: PreparedBody {
    /// What comes in one piece; a body that is shorter is compressed at once.
    private static let pieceBytes = 32 << 10
    /// How many pieces may wait, so that a body is not in memory twice.
    private static let maxPieces = 3
    /// What is shorter gains nothing from being compressed.
    private static let minCompressed = 1024

    private struct Work: Sendable {
        var pieces: [[UInt8]] = []
        var hasAll = false
        var isAbandoned = false
        var result: HTTPBody?
        var hasEnded = false
    }

    private enum Form {
        case plain
        /// It is short as yet, or there is no thread for it.
        case waiting
        case underWay
    }

    private let frame: BodyFrame
    private let level: Int
    private let work = Monitor(Work())
    private var form: Form
    private var piece: [UInt8] = []
    private var count = 0
    private var body: HTTPBody?

    /// - Parameter level: As zlib has it; 0 leaves the body as it is.
    init(_ frame: BodyFrame, level: Int) {
        self.frame = frame
        self.level = level
        form = level > 0 ? .waiting : .plain
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

    /// The whole body; nothing where zlib has failed.
    func finished() -> HTTPBody? {
        if let body { return body }
        if count > 0 { piece += frame.end } else { piece = [] }
        switch form {
        case .plain: body = HTTPBody(bytes: piece, isCompressed: false)
        case .waiting: body = Self.compressed(piece, level)
        case .underWay:
            pass()
            work.withLock { $0.hasAll = true }
            work.broadcast()
            body = work.wait { $0.hasEnded ? .some($0.result) : nil } ?? nil
            // It is kept until it has arrived, and once is enough.
            work.withLock { $0.result = nil }
        }
        piece = []
        return body
    }

    /// Where there is no memory for it, a body goes as it is, which is no fault.
    private static func compressed(_ body: [UInt8], _ level: Int) -> HTTPBody {
        guard body.count > minCompressed, let bytes = try? Gzip.compress(body, level: level) else {
            return HTTPBody(bytes: body, isCompressed: false)
        }
        return HTTPBody(bytes: bytes, isCompressed: true)
    }

    private func pass() {
        if form == .waiting { start() }
        guard form == .underWay, !piece.isEmpty else { return }
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

    private func start() {
        let (work, level) = (work, level)
        let thread = try? Thread.start(name: "compress") { Self.run(work, level) }
        // It is tried again with the next line.
        if thread != nil { form = .underWay }
    }

    private static func run(_ work: Monitor<Work>, _ level: Int) {
        Thread.yieldToOthers()
        let result = try? compressed(work, level)
        work.withLock { work in
            work.result = result ?? nil
            work.hasEnded = true
        }
        work.broadcast()
    }

    private static func compressed(_ work: Monitor<Work>, _ level: Int) throws(GzipError) -> HTTPBody? {
        var compressor = try? GzipCompressor(level: level)
        let isCompressed = compressor != nil
        var output: [UInt8] = []
        while true {
            let next = work.wait { work -> [[UInt8]]? in
                guard work.isAbandoned || work.hasAll || !work.pieces.isEmpty else { return nil }
                let pieces = work.isAbandoned ? [] : work.pieces
                work.pieces = []
                return pieces
            }
            work.broadcast()
            for piece in next ?? [] {
                if isCompressed { try compressor?.append(piece, to: &output) } else { output += piece }
            }
            let state = work.withLock { ($0.isAbandoned, $0.hasAll && $0.pieces.isEmpty) }
            if state.0 { return nil }
            if state.1 { break }
        }
        try compressor?.finish(into: &output)
        return HTTPBody(bytes: output, isCompressed: isCompressed)
    }
}

@available(*, unavailable)
extension StreamingCompressor: Sendable {}

/// How lines become one body.
package struct BodyFrame: Equatable, Sendable {
    package let beginning: [UInt8]
    /// Stands between two lines.
    package let separator: [UInt8]
    package let end: [UInt8]

    /// Each line followed by a line feed.
    package static let lines = BodyFrame(beginning: [], separator: [UInt8(ascii: "\n")], end: [UInt8(ascii: "\n")])

    /// The lines as elements of the one array of an object.
    package static func array(named name: StaticString) -> BodyFrame {
        BodyFrame(
            beginning: Array("{\"\(name)\":[".utf8), separator: [UInt8(ascii: ",")], end: Array("]}".utf8))
    }

    /// The whole body.
    package func body(of lines: [[UInt8]]) -> [UInt8] {
        guard !lines.isEmpty else { return [] }
        var body: [UInt8] = []
        body.reserveCapacity(
            lines.reduce(beginning.count + end.count) { $0 + $1.count + separator.count })
        body += beginning
        for (index, line) in lines.enumerated() {
            if index > 0 { body += separator }
            body += line
        }
        body += end
        return body
    }
}
