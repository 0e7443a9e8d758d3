import UnixIO

extension KernelInstant {
    static func + (moment: KernelInstant, duration: Duration) -> KernelInstant {
        moment.advanced(by: duration)
    }
}
