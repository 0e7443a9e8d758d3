import CLinux

/// Chance that nobody can foresee, from the kernel.
package enum Randomness {
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0, "There is no negative number of bytes")
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let read = unsafe bytes.withUnsafeMutableBytes { room in
                try? retrying {
                    unsafe clinux_random(room.baseAddress.map { unsafe $0 + filled }, count - filled)
                }
            }
            // It fails only where the call is forbidden to us, and predictable
            // identifiers would be worse than an end.
            guard let read else { preconditionFailure("The kernel gives no random bytes") }
            filled += read
        }
        return bytes
    }

    package static func uint64() -> UInt64 {
        var number: UInt64 = 0
        let read = try? retrying { unsafe clinux_random(&number, 8) }
        precondition(read == 8, "The kernel gives no random bytes")
        return number
    }
}
