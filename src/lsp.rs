//! Everything about LSP shapes: conversion both ways, what the client can do, error codes.
