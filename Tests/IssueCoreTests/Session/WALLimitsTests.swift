import IssueCore
import Testing

@Suite("WAL limits")
struct WALLimitsTests {
    @Test("Snapshots end long before commits must wait, and a commit that begins just below the limit still fits")
    func order() {
        let limits = WALLimits(pageBytes: 8192)
        let frame: Int64 = 8192 + 24
        #expect(limits.pressure(frames: 0) == .none)
        var last = WALLimits.Pressure.none
        var bytes: [WALLimits.Pressure: Int64] = [:]
        for frames in 0...10_000 {
            let pressure = limits.pressure(frames: frames)
            #expect(pressure >= last)
            if pressure > last { bytes[pressure] = Int64(frames) * frame }
            last = pressure
        }
        let mebi: Int64 = 1 << 20
        #expect((20 * mebi...24 * mebi).contains(bytes[.closed] ?? 0))
        #expect((28 * mebi...32 * mebi).contains(bytes[.interrupting] ?? 0))
        #expect((44 * mebi...48 * mebi).contains(bytes[.full] ?? 0))
        #expect(Int64(limits.frameLimit) * frame <= 60 * mebi)
        #expect(Int64(limits.frameLimit) * frame > bytes[.full] ?? .max)
    }

    @Test("During a backup the WAL may grow to eight times the limit, and no further")
    func backup() {
        let limits = WALLimits(pageBytes: 8192, maxBytes: WALLimits.maxBytesDuringBackup)
        #expect(limits.pressure(frames: 8192) == .none)
        #expect(limits.pressure(frames: 65_536) == .full)
    }
}
