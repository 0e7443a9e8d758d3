package import IssueCore

/// Why a question can't be answered as it was put.
package enum QueryFailure: Error, Equatable, Sendable {
    /// A part of the filter that means nothing.
    case invalidFilter(field: String, reason: String)
    /// A parameter beside the filter that means nothing.
    case invalidParameter(String)
    /// No record or group of this id, or none that may be seen.
    case notFound(id: String)
}

extension QueryFailure {
    package init(_ excess: QueryLimits.Excess) {
        self = .invalidFilter(field: excess.field, reason: excess.reason)
    }
}
