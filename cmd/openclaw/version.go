package main

// version is what --version prints and what the gateway tells its clients.
const version = "0.1.0"
