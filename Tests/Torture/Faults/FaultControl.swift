import Foundation
package import UnixIO

/// The file through which the fault library in a daemon gets requests and returns its counters. Its format is in
/// `Tests/Faults/faults.h`.
package final class FaultControl {
    private enum Field: Int {
        case clockOffset
        case point
        case passesLeft
        case signal
        case pointTaken
        case callNumber
        case failingCalls
        case error
        case calls
        case failedCalls
        case failedKind
    }

    /// The names of the kinds of calls that may fail, by their numbers in `faults_kind`.
    package static let kinds = ["none", "open", "read", "write", "sync", "truncate", "map", "unlink", "stat"]

    package let path: String
    private let file: FileHandle

    private static let pointCount = 96
    private static let nameBytes = 56
    private static let head = 128
    private static let pointBytes = nameBytes + 8

    package init(path: String) throws {
        self.path = path
        let empty = Data(count: Self.head + Self.pointCount * Self.pointBytes)
        guard FileManager.default.createFile(atPath: path, contents: empty),
            let file = FileHandle(forUpdatingAtPath: path)
        else { throw CocoaError(.fileWriteUnknown) }
        self.file = file
    }

    // MARK: Requests

    /// Requests a signal at the nth pass of a point from now on.
    package func signal(_ signal: Int32, at point: Int, pass: Int) throws {
        try set(.point, 0)
        try set(.signal, Int64(signal))
        try set(.passesLeft, Int64(pass))
        try set(.pointTaken, 0)
        try set(.point, Int64(point))
    }

    /// Withdraws the request for a signal.
    package func disarm() throws {
        try set(.point, 0)
    }

    /// The number of the point at which the requested signal was sent; 0 if it has not been sent yet.
    package var pointTaken: Int { get throws { Int(try get(.pointTaken)) } }

    /// Makes `count` calls on the database's files fail, beginning with the nth from now on.
    package func failCalls(from number: Int, count: Int, with error: Errno) throws {
        try set(.callNumber, 0)
        try set(.failingCalls, Int64(count))
        try set(.error, Int64(error.rawValue))
        try set(.failedCalls, 0)
        try set(.failedKind, 0)
        try set(.callNumber, Int64(number))
    }

    package func failNoCalls() throws {
        try set(.callNumber, 0)
    }

    package var failedCalls: Int { get throws { Int(try get(.failedCalls)) } }
    package var failedKind: String { get throws { Self.kinds[Int(try get(.failedKind))] } }
    package var calls: Int { get throws { Int(try get(.calls)) } }

    /// Makes the daemon's wall clock differ from the real one by `duration`.
    package func setClock(off duration: Duration) throws {
        try set(.clockOffset, Int64(duration / .milliseconds(1)))
    }

    // MARK: Points

    /// The names of the points, ordered by their numbers from 1. Empty until a program has set them.
    package var points: [String] {
        get throws {
            var names: [String] = []
            for number in 0..<Self.pointCount {
                try file.seek(toOffset: UInt64(Self.head + number * Self.pointBytes))
                let bytes = try file.read(upToCount: Self.nameBytes) ?? Data()
                let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                if name.isEmpty { break }
                names.append(name)
            }
            return names
        }
    }

    /// Returns how often a point was passed.
    package func passes(of point: Int) throws -> Int64 {
        try number(at: Self.head + (point - 1) * Self.pointBytes + Self.nameBytes)
    }

    // MARK: Numbers

    private func get(_ field: Field) throws -> Int64 {
        try number(at: 8 * field.rawValue)
    }

    private func set(_ field: Field, _ value: Int64) throws {
        try file.seek(toOffset: UInt64(8 * field.rawValue))
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: UInt64(bitPattern: value) >> (8 * UInt64($0))) }
        try file.write(contentsOf: Data(bytes))
    }

    private func number(at offset: Int) throws -> Int64 {
        try file.seek(toOffset: UInt64(offset))
        let bytes = try file.read(upToCount: 8) ?? Data()
        return Int64(bitPattern: bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
