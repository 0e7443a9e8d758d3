/// What the service would find wrong with a line after it has said 200.
///
/// In the words of its documentation where there are some.
package enum LineTag: String, Hashable, Sendable, CaseIterable {
    case fieldTooLong = "INVALID_FIELD_VALUE_LENGTH"
    case fieldNameTooLong = "MAX_FIELD_KEY_SIZE"
    case tooDeep = "MAX_JSON_DEPTH"
    case tooManyFields = "MAX_FIELDS_NUMBER"
    /// A dot in a name, whatever is built around it in production.
    case dottedName = "ARRAY_INDEX_OUT_OF_BOUNDS_EXCEPTION"
    /// The field had another type in the first line that had it.
    case typeChanged = "FIELD_TYPE_CHANGED"
    case timestampUnparsable = "TIMESTAMP_UNPARSABLE"
    /// The line has another `type` than the query.
    case twoTypes = "TWO_TYPES"
}
