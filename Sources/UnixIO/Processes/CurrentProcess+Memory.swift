import CLinux

extension CurrentProcess {
    /// Has a process of several threads keep little memory that it does not use.
    ///
    /// It has to come before there are threads.
    package static func keepHeapsSmall() { clinux_keep_heaps_small() }
}
