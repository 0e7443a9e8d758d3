import Foundation

/// A reproducible random number generator: the same seed gives the same numbers (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// The seed of this run: the environment variable `ISSUED_SEED` or, without it, a random number.
    package static let runSeed =
        ProcessInfo.processInfo.environment["ISSUED_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0...999_999)

    package init(_ seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
