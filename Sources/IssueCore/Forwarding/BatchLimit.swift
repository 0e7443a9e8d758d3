/// The most that one batch may hold.
package struct BatchLimit: Equatable, Sendable {
    package var records: Int
    package var bytes: Int

    package init(records: Int, bytes: Int) {
        self.records = records
        self.bytes = bytes
    }
}
