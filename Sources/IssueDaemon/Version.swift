/// Which version of the daemon this is.
enum Version {
    static let text = "0.1.0"
}
