import CWork
import UnixIO

/// Checks that the work of a harness is at most proportional to the length of its input.
///
/// Parts of an input are repeated until it is `size` bytes long, and then twice and four times as long. Work is counted
/// in comparisons, not in time, so that the same input always gives the same result.
enum Growth {
    /// The length in bytes of the smallest of the three inputs, or nil if growth is not tested. `.ci/fuzz` sets it in
    /// the environment, for some inputs close to the limits of the product.
    static let size: Int? = ProcessEnvironment["ISSUED_FUZZ_GROWTH"].flatMap { Int($0) }

    /// An input of twice the length may take this many times the work, plus the constant.
    private static let factor = 2.5
    private static let constant: UInt64 = 20_000
    /// The number of parts of each input that are repeated.
    private static let parts = ProcessEnvironment["ISSUED_FUZZ_PARTS"].flatMap { Int($0) } ?? 3

    static func work(of input: [UInt8], in harness: Harness) -> UInt64 {
        let before = fuzz_work()
        harness.run(input.span)
        return fuzz_work() - before
    }

    static func check(_ seed: [UInt8], in harness: Harness, size: Int) {
        guard seed.count > 1 else { return }
        // The parts are chosen by a generator whose seed is the input, so each run chooses the same ones.
        var state = seed.reduce(UInt64(seed.count)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        func next(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        for _ in 0..<parts {
            let start = next(below: seed.count)
            let end = min(seed.count, start + 1 + next(below: 24))
            func grown(to size: Int) -> [UInt8] {
                var input = Array(seed[..<start])
                while input.count < size { input += seed[start..<end] }
                return input + seed[end...]
            }
            let inputs = [1, 2, 4].map { grown(to: $0 * size) }
            let work = inputs.map { self.work(of: $0, in: harness) }
            let isSteep = zip(work, work.dropFirst()).allSatisfy { $1 > constant + UInt64(factor * Double($0)) }
            require(
                !isSteep,
                """
                The work of \(harness.rawValue) grows faster than its input: \(work) comparisons for \
                \(inputs.map(\.count)) bytes, where \(Array(seed[start..<end]).asText.debugDescription) is repeated
                """)
            let perByte = Double(work[2]) / Double(inputs[2].count)
            require(
                perByte <= harness.maxWorkPerByte,
                """
                \(harness.rawValue) makes \(Int(perByte)) comparisons for each byte, where \
                \(Array(seed[start..<end]).asText.debugDescription) is repeated
                """)
            let growth = max(Double(work[1]) / Double(max(1, work[0])), Double(work[2]) / Double(max(1, work[1])))
            print("growth \(growth) work \(perByte) of \(inputs[2].count) bytes")
        }
    }
}
