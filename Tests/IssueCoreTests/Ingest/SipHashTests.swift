import IssueCore
import Testing

@Suite("The hash for stored values")
struct SipHashTests {
    /// The results for inputs of 0, 1, 2, … bytes from the reference implementation (`vectors_sip64`).
    private static let vectors: [UInt64] = [
        0x726f_db47_dd0e_0e31, 0x74f8_39c5_93dc_67fd, 0x0d6c_8009_d9a9_4f5a, 0x8567_6696_d7fb_7e2d,
        0xcf27_94e0_2771_87b7, 0x1876_5564_cd99_a68d, 0xcbc9_466e_58fe_e3ce, 0xab02_00f5_8b01_d137,
        0x93f5_f579_9a93_2462, 0x9e00_82df_0ba9_e4b0, 0x7a5d_bbc5_94dd_b9f3, 0xf4b3_2f46_226b_ada7,
        0x751e_8fbc_860e_e5fb, 0x14ea_5627_c084_3d90, 0xf723_ca90_8e7a_f2ee, 0xa129_ca61_49be_45e5,
    ]

    @Test("The hash for stored values agrees with the published vectors of SipHash-2-4", arguments: vectors.indices)
    func agrees(length: Int) {
        var hash = SipHash(key0: 0x0706_0504_0302_0100, key1: 0x0f0e_0d0c_0b0a_0908)
        hash.append((0..<UInt8(length)).map { $0 })
        #expect(hash.finish() == Self.vectors[length])
    }

    @Test(
        "The hash for stored values is the same however the input is divided into bytes, numbers and runs",
        arguments: 0..<16)
    func isDivided(bytesFirst: Int) {
        let word: UInt64 = 0x0807_0605_0403_0201
        let bytes = (0..<40).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let lead = (0..<bytesFirst).map { UInt8($0 + 100) }
        var divided = SipHash()
        for byte in lead { divided.append(byte) }
        divided.append(word)
        divided.append(bytes)
        var single = SipHash()
        for byte in lead + (1...8) + bytes { single.append(byte) }
        #expect(divided.finish() == single.finish())
    }

    @Test("The hash for stored values depends on the boundaries between texts, and distinguishes absent from empty")
    func divides() {
        func hash(_ fields: String?...) -> UInt64 {
            var hash = SipHash()
            for field in fields { hash.append(field: field) }
            return hash.finish()
        }
        #expect(hash("ab", "c") != hash("a", "bc"))
        #expect(hash("", nil) != hash(nil, ""))
    }
}
