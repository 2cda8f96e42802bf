# shellcheck shell=bash
# Starts etcd and kube-apiserver on free ports of the loopback interface, and ends them. There are no controllers, no
# scheduler and no nodes: objects are admitted, stored and deleted, and nothing runs. Source it after tools/lib.sh.

# cluster_start FOLDER API_SERVER [VERSION]: FOLDER gets data, keys, logs and kubeconfig. With VERSION, the server behaves
# like that older version: it has its APIs, features and defaults.
cluster_start() {
    CLUSTER=$1 CLUSTER_PIDS=()
    local server=$2 etcd etcd_port peer_port port options=()
    etcd=$("$ROOT/tools/get-kubernetes.sh" etcd)
    rm -rf "$CLUSTER" && mkdir -p "$CLUSTER"
    chmod 700 "$CLUSTER"
    cluster_keys
    etcd_port=$(free_port) peer_port=$(free_port) port=$(free_port)
    "$etcd" --data-dir "$CLUSTER/etcd" --unsafe-no-fsync --listen-client-urls "http://127.0.0.1:$etcd_port" \
        --advertise-client-urls "http://127.0.0.1:$etcd_port" --listen-peer-urls "http://127.0.0.1:$peer_port" \
        --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
        --initial-cluster "default=http://127.0.0.1:$peer_port" >"$CLUSTER/etcd.log" 2>&1 &
    CLUSTER_PIDS+=($!)
    [ -z "${3:-}" ] || options=(--emulated-version="$3" --emulation-forward-compatible)
    case $server-${3:-} in # the policies are beta there, and off
    *-1.3[45] | *v1.3[45].*) options+=(--feature-gates=MutatingAdmissionPolicy=true
        --runtime-config=admissionregistration.k8s.io/v1beta1=true) ;;
    esac
    "$server" --etcd-servers "http://127.0.0.1:$etcd_port" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 \
        --secure-port "$port" --tls-cert-file "$CLUSTER/server.crt" --tls-private-key-file "$CLUSTER/server.key" \
        --client-ca-file "$CLUSTER/ca.crt" --authorization-mode RBAC --service-cluster-ip-range 10.0.0.0/24 \
        --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$CLUSTER/accounts.key" \
        --service-account-signing-key-file "$CLUSTER/accounts.key" --profiling=false "${options[@]}" \
        >"$CLUSTER/apiserver.log" 2>&1 &
    CLUSTER_PIDS+=($!)
    cluster_config "$port"
    # As long as both run, they are only slow.
    until answers "https://127.0.0.1:$port/readyz" --cacert "$CLUSTER/ca.crt" --cert "$CLUSTER/admin.crt" \
        --key "$CLUSTER/admin.key"; do
        { kill -0 "${CLUSTER_PIDS[0]}" && kill -0 "${CLUSTER_PIDS[1]}"; } 2>/dev/null || {
            tail -n 5 "$CLUSTER/etcd.log" "$CLUSTER/apiserver.log"
            fail "etcd or kube-apiserver ended; their logs are in $CLUSTER"
        }
        sleep 0.2
    done
}

# At once: their data is not used again, and without etcd kube-apiserver would wait for it.
cluster_stop() {
    [ ${#CLUSTER_PIDS[@]} -gt 0 ] || return 0
    kill -KILL "${CLUSTER_PIDS[@]}" 2>/dev/null || true
    wait "${CLUSTER_PIDS[@]}" 2>/dev/null || true
    CLUSTER_PIDS=()
}

# A certificate authority, the server's certificate, an administrator's, and the key that signs service accounts' tokens.
cluster_keys() (
    cd "$CLUSTER" || exit 1
    openssl genrsa -out accounts.key 2048
    openssl req -x509 -newkey rsa:2048 -noenc -days 2 -subj /CN=cuspan-test -keyout ca.key -out ca.crt
    certificate server /CN=127.0.0.1 "subjectAltName=IP:127.0.0.1,DNS:localhost"
    certificate admin /O=system:masters/CN=admin "extendedKeyUsage=clientAuth"
) 2>/dev/null

# certificate NAME SUBJECT EXTENSION
certificate() {
    openssl req -newkey rsa:2048 -noenc -subj "$2" -keyout "$1.key" -out "$1.csr"
    openssl x509 -req -days 2 -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -out "$1.crt" \
        -extfile <(echo "$3")
}

# cluster_config PORT: the file for kubectl and Helm.
cluster_config() {
    cat >"$CLUSTER/kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$1", certificate-authority: "$CLUSTER/ca.crt"}}]
users: [{name: admin, user: {client-certificate: "$CLUSTER/admin.crt", client-key: "$CLUSTER/admin.key"}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
END
    echo "https://127.0.0.1:$1" >"$CLUSTER/address"
}
