extension ProducerMark {
    private static let version: UInt8 = 1

    /// The form in which it stands in its row: few bytes, since it is written with each call.
    package var bytes: [UInt8] {
        var bytes = [Self.version]
        Self.append(highest, to: &bytes)
        Self.append(Int64(calls.count), to: &bytes)
        var expected = (sequence: Int64(0), row: Int64(0))
        for call in calls {
            Self.append(call.sequence &- expected.sequence, to: &bytes)
            Self.append(call.count, to: &bytes)
            Self.append(call.firstRow &- expected.row, to: &bytes)
            Self.append(Int64(call.rejected.count), to: &bytes)
            var before: Int64 = 0
            for place in call.rejected {
                Self.append(place &- before, to: &bytes)
                before = place
            }
            // Most calls follow on the one before, and then both differences are small.
            expected = (call.sequence &+ call.count, call.firstRow &+ call.count &- Int64(call.rejected.count))
        }
        return bytes
    }

    /// Reads it back; nothing where the bytes are not what `bytes` writes.
    package init?(bytes: [UInt8]) {
        var rest = bytes[...]
        guard rest.popFirst() == Self.version, let highest = Self.number(from: &rest),
            let count = Self.number(from: &rest), (0...Int64(Self.mostCalls)).contains(count)
        else { return nil }

        var calls: [Call] = []
        var expected = (sequence: Int64(0), row: Int64(0))
        for _ in 0..<count {
            guard let sequence = Self.number(from: &rest), let length = Self.number(from: &rest), length > 0,
                let row = Self.number(from: &rest), let rejected = Self.number(from: &rest),
                // Each takes at least a byte, so a wrong number can't ask for more memory than came in.
                (0...Int64(rest.count)).contains(rejected)
            else { return nil }
            var call = Call(sequence: expected.sequence &+ sequence, count: length, firstRow: expected.row &+ row)
            var before: Int64 = 0
            for _ in 0..<rejected {
                guard let step = Self.number(from: &rest) else { return nil }
                before = before &+ step
                guard (0..<length).contains(before), before > call.rejected.last ?? -1 else { return nil }
                call.rejected.append(before)
            }
            expected = (call.sequence &+ length, call.firstRow &+ length &- rejected)
            calls.append(call)
        }
        guard rest.isEmpty else { return nil }
        self.highest = highest
        self.calls = calls
    }

    /// Seven bits a byte, the lowest first; small numbers of either sign are short.
    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        var rest = UInt64(bitPattern: (number << 1) ^ (number >> 63))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private static func number(from bytes: inout ArraySlice<UInt8>) -> Int64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = bytes.popFirst() {
            // The tenth byte has room for one bit.
            guard shift < 63 || (shift == 63 && byte <= 1) else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
            shift += 7
        }
        return nil
    }
}
