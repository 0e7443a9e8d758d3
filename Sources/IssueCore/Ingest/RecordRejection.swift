/// Why a record was not taken, while its neighbours were.
package struct RecordRejection: Error, Equatable, Sendable {
    package var field: String?
    package var reason: String

    package init(field: String?, reason: String) {
        self.field = field
        self.reason = reason
    }
}
