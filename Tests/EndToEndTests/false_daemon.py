"""Listens in the given folder, writes what clients send to the file "heard", and never replies."""
import os
import socket
import sys

os.chdir(sys.argv[1])
listener = socket.socket(socket.AF_UNIX)
listener.bind("issued/issued.sock")
os.chmod("issued/issued.sock", 0o666)
listener.listen(8)
open("ready", "w").close()
while True:
    connection, _ = listener.accept()
    open("visited", "w").close()
    with open("heard", "ab") as heard:
        while chunk := connection.recv(65536):
            heard.write(chunk)
            heard.flush()
