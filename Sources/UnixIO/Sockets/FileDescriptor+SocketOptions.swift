import CLinux

extension FileDescriptor {
    /// The port of a TCP socket, chosen by the kernel if it was bound to 0.
    package borrowing func localPort() throws(Errno) -> UInt16 {
        UInt16(truncatingIfNeeded: try calling { clinux_local_port(rawValue) })
    }

    /// Whether this is a socket that listens, as one inherited from systemd is.
    package borrowing func isListening() throws(Errno) -> Bool {
        try calling { clinux_is_listening(rawValue) } == 1
    }

    /// Asks for a send buffer; the kernel doubles the number for its own use.
    package borrowing func setSendBuffer(bytes: Int) throws(Errno) {
        try calling { clinux_set_send_buffer(rawValue, CInt(clamping: bytes)) }
    }

    /// Asks for a receive buffer; the kernel doubles the number for its own use.
    package borrowing func setReceiveBuffer(bytes: Int) throws(Errno) {
        try calling { clinux_set_receive_buffer(rawValue, CInt(clamping: bytes)) }
    }

    /// Makes closing a TCP connection reset it instead of ending it in order.
    package borrowing func setResetOnClose() throws(Errno) {
        try calling { clinux_set_reset_on_close(rawValue) }
    }

    /// Sends small pieces at once, instead of gathering them.
    package borrowing func setNoDelay() throws(Errno) {
        try calling { clinux_set_no_delay(rawValue) }
    }
}
