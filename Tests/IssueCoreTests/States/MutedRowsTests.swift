import IssueCore
import Testing

@Suite("The rows during which a group was muted")
struct MutedRowsTests {
    @Test("The rows during which a group was muted contain exactly the rows of the ranges, and `last` is the last one")
    func rows() {
        let muted = MutedRows([3...3, 5...9, 20...RowID.max])
        #expect((0...22).filter { muted.contains($0) } == [3, 5, 6, 7, 8, 9, 20, 21, 22])
        #expect(muted.contains(.max))
        #expect(muted.last == .max)
        let over = MutedRows([3...3, 5...9])
        #expect((0...22).filter { over.contains($0) } == [3, 5, 6, 7, 8, 9])
        #expect(over.last == 9)
        #expect(!MutedRows().contains(1))
        #expect(MutedRows().last == nil)
    }
}
