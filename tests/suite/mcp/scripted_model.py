"""A model for agent programs that speak the Chat Completions API: it calls the tools of a script, one after another, and
then says that it is done. It keeps no state: how far it is follows from the conversation that comes with each request.

scripted_model.py LOG SCRIPT: prints its port; SCRIPT is JSON, [[tool, arguments], ...]; LOG gets a line per request.
"""

import fcntl
import http.server
import json
import socket
import struct
import sys

LOG, SCRIPT = sys.argv[1], json.loads(sys.argv[2])


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with open(LOG, "a") as log:
            log.write(json.dumps(body) + "\n")
        message = self.next_message(body)
        finish = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "finish_reason": finish}
        answer = {"id": "scripted", "created": 0, "model": "scripted", "choices": [choice],
                  "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        if not body.get("stream"):
            choice["message"] = message
            answer["object"] = "chat.completion"
            return self.send("application/json", json.dumps(answer))
        choice["delta"] = message
        answer["object"] = "chat.completion.chunk"
        self.send("text/event-stream", f"data: {json.dumps(answer)}\n\ndata: [DONE]\n\n")

    def next_message(self, body):
        step = sum(message["role"] == "tool" for message in body["messages"])
        offered = [tool["function"]["name"] for tool in body.get("tools", [])]
        message = {"role": "assistant", "content": "done"}
        if offered and step < len(SCRIPT):
            # A program puts the name of the server before that of a tool.
            name, arguments = SCRIPT[step]
            named = next((tool for tool in offered if tool.endswith("__" + name)), name)
            function = {"name": named, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"call-{step}", "type": "function", "function": function}
            message.update(content=None, tool_calls=[call])
        return message

    def send(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def start_network():
    """Starts the interface of 127.0.0.1, which a new network has stopped (SIOCSIFFLAGS; up, loopback, running)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x49))


start_network()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
