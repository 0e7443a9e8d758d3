/// Why bytes could not be compressed or decompressed.
package enum GzipError: Error, Equatable, Sendable {
    /// The data ends before the format does.
    case truncated
    /// Not gzip, or its checksum does not fit.
    case corrupt
    /// It would become longer than the caller allows.
    case overLimit
    /// More than zlib takes in one piece.
    case tooLarge
    case outOfMemory
}
