import Testing

@testable import IssueCore

@Suite("Times of the records in a range")
struct RowTimesTests {
    /// Rows with gaps, and times that often stay the same for a while.
    private func log(_ seed: UInt64) -> [RowTimes.Sample] {
        var random = SeededGenerator(seed: seed)
        var (row, at): (Int64, Int64) = (Int64(Int.random(in: 0..<50, using: &random)), 1000)
        return (0..<400).map { _ in
            row += Int.random(in: 0..<5, using: &random) == 0 ? Int64(Int.random(in: 0..<9, using: &random)) + 1 : 1
            at += Int.random(in: 0..<30, using: &random) == 0 ? Int64(Int.random(in: 0..<40, using: &random)) : 0
            return RowTimes.Sample(row: row, at: at)
        }
    }

    @Test("The results are the same as if all records had been read", arguments: 0..<8 as Range<UInt64>)
    func answers(seed: UInt64) throws {
        let log = log(seed)
        let rows = log[0].row...log[log.count - 1].row
        var times = RowTimes()
        var random = SeededGenerator(seed: seed &+ 100)
        func look(_ row: Int64) -> RowTimes.Sample? { log.first { $0.row >= row } }
        for _ in 0..<300 {
            let sample = log[Int.random(in: 0..<log.count, using: &random)]
            #expect(times.time(of: sample.row, look) == sample.at)
            let time =
                log[Int.random(in: 0..<log.count, using: &random)].at + Int64(Int.random(in: 0..<3, using: &random)) - 1
            let wanted = log.first { $0.at >= time }?.row
            let found = times.row(since: time, in: rows, look)
            // The row need not exist, but the first one at or after it is the expected one.
            #expect(found.flatMap { look($0) }?.row == wanted)
        }
    }

    @Test("Few of the records with the same time are read")
    func few() {
        var times = RowTimes()
        var random = SeededGenerator(seed: 1)
        var looks = 0
        func look(_ row: Int64) -> RowTimes.Sample? {
            looks += 1
            return RowTimes.Sample(row: row, at: row <= 50_000 ? 1 : 2)
        }
        for _ in 0..<10_000 {
            let row = Int64.random(in: 1...100_000, using: &random)
            #expect(times.time(of: row, look) == (row <= 50_000 ? 1 : 2))
        }
        for _ in 0..<1000 { #expect(times.row(since: 2, in: 1...100_000, look) == 50_001) }
        #expect(times.row(since: 3, in: 1...100_000, look) == nil)
        #expect(looks < 500)
    }
}
