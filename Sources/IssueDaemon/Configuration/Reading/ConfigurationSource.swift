/// Which files are read.
package enum ConfigurationSource: Hashable, Sendable {
    /// `/etc/issued/issued.conf` and its drop-ins, or nothing where an ordinary
    /// user has none.
    case usual
    /// That file alone, and the drop-ins in `FILE.d/`.
    case file(String)
}
