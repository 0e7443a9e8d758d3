/// A problem that the service would find in a line only after it has responded with 200.
///
/// Named as in the service's documentation where possible.
package enum LineTag: String, Hashable, Sendable, CaseIterable {
    case fieldTooLong = "INVALID_FIELD_VALUE_LENGTH"
    case fieldNameTooLong = "MAX_FIELD_KEY_SIZE"
    case tooDeep = "MAX_JSON_DEPTH"
    case tooManyFields = "MAX_FIELDS_NUMBER"
    /// A dot in a name, regardless of how the real service handles it.
    case dottedName = "ARRAY_INDEX_OUT_OF_BOUNDS_EXCEPTION"
    /// The field had another type in the first line that contained it.
    case typeChanged = "FIELD_TYPE_CHANGED"
    case timestampUnparsable = "TIMESTAMP_UNPARSABLE"
    /// The `type` of the line differs from that of the query.
    case twoTypes = "TWO_TYPES"
}
