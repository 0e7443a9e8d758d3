"""Copies data both ways between the socket that is its standard input and output and the daemon's socket."""
import os, selectors, socket, sys
near = socket.socket(fileno=0)
far = socket.socket(socket.AF_UNIX)
far.connect(sys.argv[1])
wait = selectors.DefaultSelector()
wait.register(near, selectors.EVENT_READ, far)
wait.register(far, selectors.EVENT_READ, near)
while True:
    for key, _ in wait.select():
        data = key.fileobj.recv(65536)
        if not data:
            sys.exit(0)
        key.data.sendall(data)
