/// What a line that is too long loses, what is least needed first.
enum TrimStep: CaseIterable {
    case metadataTexts
    case context
    case metadata
    case causes
    case backtrace
    case message
    case everyOtherText
}
