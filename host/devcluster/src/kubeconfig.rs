//! The kubeconfig for clients of the server.

use serde_json::Value;

/// Returns a kubeconfig for `server`. The token is the name of the user in the audit log.
///
/// `insecure-skip-tls-verify` changes nothing without TLS, but the JavaScript client refuses
/// `http:` without it.
pub fn kubeconfig(server: &str, token: Option<&str>) -> String {
    // JSON strings are YAML strings.
    let quoted = |text: &str| Value::from(text).to_string();
    let user = token.map_or_else(|| "{}".to_owned(), |token| format!("{{ token: {} }}", quoted(token)));
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: devcluster\n\
         \x20 cluster: {{ server: {server}, insecure-skip-tls-verify: true }}\n\
         users:\n\
         - name: devcluster\n\
         \x20 user: {user}\n\
         contexts:\n\
         - name: devcluster\n\
         \x20 context: {{ cluster: devcluster, user: devcluster, namespace: default }}\n\
         current-context: devcluster\n",
        server = quoted(server),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clients_read_it() {
        let text = kubeconfig("http://127.0.0.1:8001", Some("some: \"body\""));
        let kubeconfig = kube::config::Kubeconfig::from_yaml(&text).unwrap();
        let config =
            kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await.unwrap();
        assert_eq!(config.cluster_url.to_string(), "http://127.0.0.1:8001/");
        assert_eq!(config.default_namespace, "default");
        assert!(config.accept_invalid_certs, "the JavaScript client refuses http: otherwise");
        kube::Client::try_from(config).unwrap();
        let anonymous = kube::config::Kubeconfig::from_yaml(&kubeconfig_without_a_token()).unwrap();
        assert!(anonymous.auth_infos[0].auth_info.as_ref().is_some_and(|user| user.token.is_none()));
    }

    fn kubeconfig_without_a_token() -> String {
        kubeconfig("http://localhost:1", None)
    }
}
